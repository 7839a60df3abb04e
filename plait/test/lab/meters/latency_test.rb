# frozen_string_literal: true

# bin/test: jruby

require_relative "../builders"

class LabLatencyTest < Minitest::Test
  include LabBuilders

  Latency = Plait::Lab.const_get(:Meters)::Latency

  def test_durations_in_order_without_those_that_never_ran
    outcomes = [outcome(0, finished_at: 3.0), outcome(1, finished_at: 1.0), outcome(2, started_at: nil)]
    assert_equal([1.0, 3.0], Latency.of(outcomes))
  end

  def test_many_are_thinned_and_keep_their_percentiles
    count = Latency::KEPT * 3
    times = Latency.of(Array.new(count) { |index| outcome(index, finished_at: (index * 7919 % count).to_f) })
    assert_equal(Latency::KEPT, times.size)
    assert_equal([0.0, count - 1.0], times.minmax)
    assert_in_delta(count / 2, Lab::Statistics.new(times).median, count / 1000)
  end
end
