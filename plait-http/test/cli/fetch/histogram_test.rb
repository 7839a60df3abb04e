# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/cli"
require "plait/cli/fetch/summary"

class FetchHistogramTest < Minitest::Test
  Histogram = Plait::CLI::Fetch::Histogram

  def test_percentiles_are_at_most_a_step_too_high
    random = Random.new(7)
    values = Array.new(10_000) { Math.exp((random.rand * 12) - 9) }
    histogram = filled(values)
    sorted = values.sort
    [0.01, 0.5, 0.9, 0.99].each do |share|
      exact = sorted[(share * sorted.size).ceil - 1]
      assert_operator histogram.quantile(share), :>=, exact
      assert_operator histogram.quantile(share), :<=, exact * 1.023
    end
  end

  def test_the_most_is_exact_and_no_percentile_is_more
    histogram = filled([0.010, 0.020, 0.033])
    assert_equal [3, 0.033, 0.033], [histogram.count, histogram.max, histogram.quantile(1)]
    assert_in_delta 0.010, histogram.quantile(0.01), 0.0003
    assert_equal 0.5, filled([0.5]).quantile(0.5)
  end

  def test_nothing_and_next_to_nothing
    assert_nil filled([]).quantile(0.5)
    assert_nil filled([]).max
    assert_equal 0.0, filled([0.0]).quantile(0.5)
  end

  def test_memory_does_not_grow_with_the_durations
    histogram = Histogram.new
    100_000.times { |n| histogram.add(n * 0.001) }
    assert_operator histogram.instance_variable_get(:@counts).size, :<, 1000
  end

  private

  def filled(values) = Histogram.new.tap { |histogram| values.each { |value| histogram.add(value) } }
end
