# frozen_string_literal: true

# bin/test: jruby

require_relative "../builders"

class LabTimelineTest < Minitest::Test
  include LabBuilders

  Timeline = Plait::Lab.const_get(:Meters)::Timeline

  def test_a_lane_for_each_worker
    record = Timeline.of([ran(10.5, 11.0, 1), ran(10.0, 10.5, 1), ran(10.0, 10.25, 0)], 10.0)
    assert_equal([[0, 0.0, 0.25, 1], [1, 0.0, 0.5, 1], [1, 0.5, 1.0, 1]], record.bars)
    assert_equal([2, 2, 1], [record.slots, record.workers, record.items_per_bar])
  end

  def test_workers_are_ordered_as_numbers
    record = Timeline.of([10, 9, 2].map { |worker| ran(worker, worker + 1, worker) }, 0.0)
    assert_equal([2.0, 9.0, 10.0], record.bars.map { |bar| bar[1] })
  end

  def test_many_workers_are_thinned_to_some
    record = Timeline.of(Array.new(500) { |worker| ran(0.0, 1.0, worker) }, 0.0)
    assert_equal([Timeline::SLOTS, 500], [record.slots, record.workers])
  end

  def test_many_items_are_joined_and_none_is_lost
    record = Timeline.of(Array.new(10_000) { |index| ran(index, index + 1, index % 4) }, 0.0)
    assert_operator(record.bars.size, :<=, Timeline::BARS)
    assert_equal(10_000, record.bars.sum(&:last))
    assert_operator(record.items_per_bar, :>, 1)
  end

  def test_nothing_ran
    assert_empty(Timeline.of([outcome(0, started_at: nil)], 0.0).bars)
  end

  private

  def ran(from, to, worker) = outcome(0, started_at: from.to_f, finished_at: to.to_f, worker: worker)
end
