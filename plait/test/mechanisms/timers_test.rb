# frozen_string_literal: true

require "test_helper"

class TimersTest < Minitest::Test
  Timer = Struct.new(:fiber, :at)

  def setup
    @timers = Plait::Scheduler.const_get(:Timers).new
  end

  def push(at) = @timers.push(Timer.new(:fiber, at))

  def due(now)
    fired = []
    while (timer = @timers.due(now))
      fired << timer
    end
    fired
  end

  def test_they_come_in_order_and_only_when_due
    times = Array.new(500) { rand }
    timers = times.to_h { |at| [push(at), at] }.compare_by_identity
    fired = due(0.5)
    assert_equal(times.select { |at| at <= 0.5 }.sort, fired.map { |timer| timers[timer] })
    assert(fired.all? { |timer| timer.at.nil? }, "what has fired says that it is no longer in the heap")
    assert_equal(times.select { |at| at > 0.5 }.min, @timers.next_at)
  end

  def test_cancelled_ones_never_come
    timers = Array.new(200) { |n| push(n) }
    cancelled, kept = timers.partition.with_index { |_, n| n.even? }
    cancelled.each { |timer| cancel(timer) }
    assert_equal(kept.map(&:object_id), due(1_000).map(&:object_id))
    assert_nil(@timers.next_at)
  end

  def test_cancelled_ones_do_not_pile_up
    10_000.times { |n| cancel(push(n)) }
    assert_operator(@timers.size, :<=, 2 * Plait::Scheduler.const_get(:Timers)::COMPACT_FROM)
  end

  def test_a_random_history_agrees_with_a_sorted_list
    random = Random.new(seed = Random.new_seed)
    list = []
    5_000.times do |now|
      list << push(now + random.rand(50.0))
      cancel(list.delete_at(random.rand(list.size))) if random.rand < 0.3
      expected, list = list.partition { |timer| timer.at <= now }
      assert_equal(expected.sort_by(&:at).map(&:object_id), due(now).map(&:object_id), "seed #{seed}")
    end
  end

  # As an interrupt does, at each line in turn.
  def test_an_interruption_loses_none_and_doubles_none
    { sift_up: -> { push(0) }, sift_down: -> { @timers.due(1) } }.each do |method, change|
      1.step.find do |line|
        setup
        15.times { |n| push(n + 1) }
        passed = !interrupted?(method, line) { change.call }
        times = @timers.heap.map(&:at).sort
        assert_equal(method == :sift_up ? [*0..15] : [*2..15], times, [method, line])
        @timers.compact
        assert_equal(times.size, due(100).size)
        passed
      end
    end
  end

  def interrupted?(method, line)
    trace = TracePoint.new(:line) { |point| raise(IOError) if point.method_id == method && (line -= 1).zero? }
    trace.enable { yield && false }
  rescue IOError
    true
  end

  def cancel(timer)
    timer.fiber = nil
    @timers.cancelled
  end
end
