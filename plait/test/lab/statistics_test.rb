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

  # By hand: of 1..100 the 99th percentile lies at place 98.01, so between 99 and 100.
  def test_percentiles_between_two_values
    assert_in_delta(99.01, Statistics.new((1..100).to_a).percentile(99))
    assert_in_delta(90.1, Statistics.new((1..100).to_a.reverse).percentile(90))
    assert_equal([1.0, 3.0, 5.0], [0, 50, 100].map { |percent| Statistics.new([5, 1]).percentile(percent) })
    assert_nil(Statistics.new((1..99).to_a).percentile(90))
  end

  # By hand: all six values are on one side with probability 2 ÷ 2^6 = 0.031.
  def test_the_least_number_of_values_for_an_interval
    assert_nil(Statistics.new([1, 2, 3, 4, 5]).interval(0.05))
    assert_equal([1, 6], Statistics.new([6, 2, 3, 4, 5, 1]).interval(0.05))
    assert_equal([2, 9], Statistics.new((1..10).to_a).interval(0.05))
    assert_nil(Statistics.new((1..10).to_a).interval(0.001))
  end

  # All looks together, from the first value to the fortieth.
  def test_an_interval_may_be_looked_at_after_each_value
    random = Random.new(5)
    missed = 1_000.times.count do
      values = []
      40.times.any? do
        low, high = Statistics.new(values << random.rand).interval(0.05)
        low && !0.5.between?(low, high)
      end
    end
    assert_operator(missed, :<=, 60)
    assert_operator(missed, :>=, 20)
  end

  def test_of_leaves_out_what_is_unknown
    assert_equal([1, 2], Statistics.of([2, nil, 1]).values)
    assert_nil(Statistics.of([nil]))
    assert_raises(ArgumentError) { Statistics.new([]) }
  end
end
