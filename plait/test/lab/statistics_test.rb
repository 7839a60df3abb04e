# frozen_string_literal: true

# bin/test: jruby

require_relative "builders"

class LabStatisticsTest < Minitest::Test
  Statistics = Plait::Lab::Statistics

  def test_the_middle_and_the_ends
    odd = Statistics.new([5, 1, 3])
    assert_equal([3.0, 1, 5, 3, 3.0], [odd.median, odd.min, odd.max, odd.n, odd.mean])
    assert_in_delta(2.5, Statistics.new([4, 1, 2, 3]).median)
    assert_in_delta(7.0, Statistics.new([7]).median)
  end

  def test_the_deviation_of_a_sample
    assert_in_delta(Math.sqrt(2.5), Statistics.new([1, 2, 3, 4, 5]).deviation)
    assert_nil(Statistics.new([1]).deviation)
  end

  # By hand: of 1..5 the 90th percentile lies at place 3.6, so between 4 and 5; of 10 values the 99th at place 8.91.
  def test_percentiles_between_two_values
    assert_in_delta(4.6, Statistics.new([1, 2, 3, 4, 5]).percentile(90))
    assert_in_delta(99.1, Statistics.new((1..10).map { |n| n * 10 }).percentile(99))
    assert_equal([1.0, 5.0], [0, 100].map { |percent| Statistics.new([5, 1]).percentile(percent) })
  end

  def test_overlapping_spreads_tie
    one = Statistics.new([1.0, 1.1, 1.3])
    assert(one.tie?(Statistics.new([1.2, 1.5, 1.6])))
    assert(one.tie?(Statistics.new([1.3, 1.5])))
    refute(one.tie?(Statistics.new([1.31, 1.5])))
    assert(one.overlap?(Statistics.new([0.5, 2.0])))
  end

  # 1,528 against 808 requests a second, for the same app: the spreads said that nobody knows.
  def test_leaders_are_all_that_cannot_be_told_from_the_best
    rows = { app: [808, 1600], same: [700, 1528], slow: [90, 95] }.transform_values { |values| Statistics.new(values) }
    assert_equal(%i[app same], Statistics.leaders(rows.keys) { |name| rows.fetch(name) })
    assert_equal([:app], Statistics.leaders(%i[app slow]) { |name| rows.fetch(name) })
  end

  def test_medians_that_differ_by_less_than_can_be_shown_tie
    assert(Statistics.new([3.000, 3.001]).tie?(Statistics.new([3.010, 3.011])))
    refute(Statistics.new([3.000, 3.001]).tie?(Statistics.new([3.050, 3.051])))
  end

  def test_a_single_run_claims_nothing
    assert_nil(Statistics.new([1.0]).tie?(Statistics.new([1.0, 2.0])))
    assert_nil(Statistics.new([1.0, 2.0]).tie?(Statistics.new([1.0])))
  end

  def test_of_leaves_out_what_is_unknown
    assert_equal([1, 2], Statistics.of([2, nil, 1]).values)
    assert_nil(Statistics.of([nil]))
    assert_raises(ArgumentError) { Statistics.new([]) }
  end
end
