# frozen_string_literal: true

# bin/test: jruby

require_relative "../builders"

class LabLinesTest < Minitest::Test
  include LabBuilders

  Page = Lab.const_get(:HtmlReport)

  def test_what_is_drawn
    assert_equal(["Throughput against the limit", "Time for all items", "Where the time goes", "Time of one item",
                  "Peak memory of one process"], titles(*some))
  end

  def test_one_limit_has_its_time_first
    assert_equal("Time for all items", titles(row(:sequence, 3.0), row(:threads, 1.0, limit: 8)).first)
  end

  def test_where_some_rows_have_one_limit_the_times_come_first
    assert_equal(["Time for all items", "Throughput against the limit"], titles(*some, row(:fibers, 2.0, limit: 4)).first(2))
    refute_includes(page(*some, row(:fibers, 2.0, limit: 4))[/Throughput.*?<figcaption>/m], "fibers")
  end

  def test_what_is_unknown_is_not_drawn
    bare = row(:sequence, 3.0, memory: nil)
    bare.trials.each { |trial| trial.peak = trial.peak_source = trial.timeline = nil }
    assert_equal(["Time for all items", "Where the time goes", "Time of one item"], titles(bare))
  end

  def test_nothing_is_drawn_of_results_that_differ
    assert_empty(titles(row(:sequence, 3.0), row(:threads, 1.0, results: digest_of(0))))
  end

  def test_a_bar_is_as_long_as_its_value
    bars = page(row(:sequence, 2.0),
                row(:threads, 1.0))[/Time for all items.*?<figcaption>/m].scan(/<rect x="([\d.]+)%" width="([\d.]+)%"/)
    assert_equal([["0", "98.04"], ["0", "49.02"]], bars)
  end

  def test_rows_that_differ_by_ten_have_a_logarithmic_axis
    drawn = page(row(:sequence, 20.0), row(:threads, 1.0))
    assert_match(/Shorter is better. The axis is logarithmic./, drawn)
    refute_match(/logarithmic/, page(row(:sequence, 2.0), row(:threads, 1.0)))
  end

  def test_time_is_split_into_what_it_goes_to
    one = row(:fibers, 1.0, cpu: 0.3).tap { |fibers| fibers.trials.first.delay = 0.1 }
    widths = split(page(one)).first
    assert_equal([29.31, 0.1, 9.81, 58.82], widths, "computing, collecting, run queue, waiting: of one processor")
    assert_equal([7.33, 90.69], split(page(row(:threads, 1.0, cpu: 0.3), cpus: 4)).first, "of four processors")
  end

  def test_a_law_is_fitted_to_four_limits
    rows = [1, 2, 4, 8].map { |limit| row(:threads, 1.0 / limit, limit: limit) }
    assert_includes(page(*rows), "A dashed curve is the Universal Scalability Law")
    refute_includes(page(*rows.first(3)), "Universal Scalability Law")
  end

  def test_a_composition_is_at_the_product_of_its_limits
    drawn = page(row(%i[processes fibers], 1.0, limit: [2, 8]), row(%i[processes fibers], 0.5, limit: [2, 32]))
    assert_equal(%w[16 64], drawn[/Throughput.*?<figcaption>/m].scan(%r{text-anchor="middle"[^>]*>(\d+)</text>}).flatten)
  end

  def test_lanes_once_a_page_and_one_row_a_mechanism
    thinned = row(:threads, 1.0, limit: 64)
    thinned.trials.first.timeline = timeline(workers: 64, items_per_bar: 5)
    drawn = page(row(:sequence, 2.0), thinned, row(:threads, 0.5, limit: 2))
    timelines = drawn[%r{<section id="timelines">.*?</section>}m]
    assert_equal(["sequence", "threads (limit 64)"], timelines.scan(%r{<th scope="row">([^<]*)</th>}).flatten)
    assert_includes(timelines, "2 of 64 workers, up to 5 items a bar")
    assert_equal(4, timelines.scan("<rect").size)
  end

  def test_the_row_to_use_stands_out
    drawn = page(row(:sequence, *[2.0] * 8), row(:threads, *[1.0] * 8))
    assert_match(%r{<tr class="use"><th scope="row">threads</th>}, drawn)
  end

  private

  def some = [row(:sequence, 3.0, 3.1), row(:threads, 1.0, limit: 2), row(:threads, 0.5, limit: 8)]

  def titles(*rows) = page(*rows)[%r{<section id="part0">.*?</section>}m].scan(/<figure><h4>([^<]*)/).flatten

  def split(page)
    page[/Where the time goes.*?<figcaption>/m].scan(%r{<tr[^>]*><th.*?</tr>}m).map do |line|
      line.scan(/<rect x="[\d.]+%" width="([\d.]+)%"/).flatten.map(&:to_f)
    end
  end

  def page(*rows, cpus: 2)
    Page.new([report(*rows, environment: { plait: "1", cpus: cpus }).to_h]).to_s
  end
end
