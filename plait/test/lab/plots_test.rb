# frozen_string_literal: true

# bin/test: jruby

require_relative "builders"
require "json"

class LabPlotsTest < Minitest::Test
  include LabBuilders

  def test_what_is_drawn
    assert_equal(["Time", "Throughput against the limit", "Time of one item", "Peak memory", "Allocated per item",
                  "Timeline"], some.map(&:title))
    assert_equal(["sequence", "threads (limit 2)", "threads (limit 8)"], some.last.drawings.keys)
  end

  def test_throughput_only_where_there_is_more_than_one_limit
    titles = plots(row(:sequence, 3.0), row(:threads, 1.0, limit: 8)).map(&:title)
    refute_includes(titles, "Throughput against the limit")
  end

  def test_values_have_the_unit_that_reads_best
    drawn = plots(row(:sequence, 0.25, 0.35)).first
    assert_in_delta(300.0, drawn.drawings[""][:data][:values].first[:median])
    assert_includes(JSON.generate(drawn.drawings), "milliseconds")
  end

  def test_what_is_unknown_is_not_drawn
    bare = row(:sequence, 3.0, memory: nil)
    bare.trials.each { |trial| trial.peak = trial.timeline = nil }
    assert_equal(["Time", "Time of one item"], plots(bare).map(&:title))
  end

  def test_nothing_is_drawn_of_results_that_differ
    assert_empty(plots(row(:sequence, 3.0), row(:threads, 1.0, results: digest_of(0))))
  end

  def test_every_drawing_has_its_figures_as_a_table
    some.each do |plot|
      refute_empty(plot.table.rows)
      assert(plot.table.rows.all? { |cells| cells.size == plot.table.columns.size && cells.all?(String) })
    end
  end

  def test_drawings_are_plain_data_with_a_caption
    some.each do |plot|
      refute_empty(plot.caption)
      plot.drawings.each_value { |spec| refute_empty(JSON.parse(JSON.generate(spec))["data"]["values"]) }
    end
  end

  def test_a_thinned_timeline_says_so
    thinned = row(:threads, 1.0)
    thinned.trials.first.timeline = timeline(workers: 64, items_per_bar: 5)
    assert_equal("threads; 2 of 64 workers are drawn; a bar stands for up to 5 items in a row",
                 plots(thinned).last.drawings.keys.first)
  end

  def test_a_composition_is_at_the_product_of_its_limits
    drawn = plots(row(%i[processes fibers], 1.0, limit: [2, 8]), row(%i[processes fibers], 0.5, limit: [2, 32]))
    values = drawn.find { |plot| plot.title.start_with?("Throughput") }.drawings[""][:data][:values]
    assert_equal([16, 64], values.map { |value| value[:limit] })
  end

  private

  def some = plots(row(:sequence, 3.0, 3.1), row(:threads, 1.0, limit: 2), row(:threads, 0.5, limit: 8))

  def plots(*rows) = Lab.const_get(:Plots).of(report(*rows))
end
