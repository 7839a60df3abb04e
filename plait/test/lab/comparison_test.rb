# frozen_string_literal: true

# bin/test: jruby

require_relative "builders"

class LabComparisonTest < Minitest::Test
  include LabBuilders

  def test_a_cell_for_each_mechanism_at_each_limit
    labels = labels_of(on: [:sequence, :threads, %i[processes fibers]], limit: [1, 8])
    assert_equal(["sequence", "threads (limit 1)", "threads (limit 8)", "processes × fibers (limit 1)",
                  "processes × fibers (limit 8)"], labels)
  end

  # A larger limit would look like a better mechanism.
  def test_without_a_limit_all_have_the_same
    mechanisms = %i[sequence threads fibers hybrid processes ractors]
    assert_equal([1, 16], limits_of((1..50).to_a, mechanisms))
    assert_equal([1, 3], limits_of([1, 2, 3], mechanisms))
    assert_equal(["threads (limit 1)"], labels_of(on: :threads))
  end

  def test_wrong_calls_are_refused_before_anything_runs
    body = ->(_) { flunk }
    assert_raises(Plait::UnknownMechanism) { Plait.compare([1], on: %i[sequence threds], &body) }
    assert_match(/limit/, refusal { Plait.compare([1], on: :threads, limit: 0, &body) })
    assert_match(/names no mechanism/, refusal { Plait.compare([1], on: [], &body) })
    assert_match(/needs a block/, refusal { Plait.compare([1], on: :threads) })
  end

  def test_items_that_can_not_be_compared
    assert_match(/endless source/, refusal { Plait.compare(1.., on: :threads) { flunk } })
    assert_match(/at least one item/, refusal { Plait.compare([], on: :threads) { flunk } })
  end

  def test_options_of_map_are_checked_at_once
    body = ->(_) { flunk }
    assert_match(/unknown keyword: :wurst/, refusal { Plait.compare([1], on: :threads, wurst: 1, &body) })
    assert_match(/on_error/, refusal { Plait.compare([1], on: :threads, on_error: :shrug, &body) })
  end

  def test_a_comparison_through_the_face
    report = assert_no_leaks do
      Plait.compare(1..12, on: %i[sequence threads fibers], limit: [4, 12], rounds: 2) do |item|
        sleep(0.02) && (item**2)
      end
    end
    refute_predicate(report, :mismatch?)
    refute_predicate(report, :failed?)
    assert_equal(5, report.rows.size)
    assert_predicate(report.rows.first, :measured?)
    assert_operator(report.rows.first.ratio, :>, 1.5)
  end

  def test_options_of_map_reach_the_body
    report = Plait.compare([1, 2], on: :threads, rounds: 1, memory: false, timeout: 0.05) { |_| sleep }
    assert_match(/TimeoutError|timed out|took longer|0\.05/i, report.rows.first.failure)
  end

  private

  def labels_of(**options)
    Lab.send(:comparison, [1], **options) { |item| item }.cells.map(&:label)
  end

  def limits_of(items, on)
    Lab.send(:comparison, items, on: on) { |item| item }.cells.map(&:limit).uniq
  end

  def refusal(&) = assert_raises(Plait::UsageError, &).message
end
