# frozen_string_literal: true

require "test_helper"
require "support/scheduler_cases"
require "timeout"

# Timers that nobody will live to see, and many that nobody waits for any longer.
class SchedulerFarTimersTest < Minitest::Test
  include SchedulerCases

  class Cancelled < Exception; end # rubocop:disable Lint/InheritException

  FAR = [1e9, 10**12, 1e20, Float::MAX, Float::INFINITY, 10r**30].freeze

  # Each that is given seconds.
  WAITS = {
    sleep: ->(seconds) { sleep(seconds) },
    timeout: ->(seconds) { Timeout.timeout(seconds) { sleep } },
    timeout_of_ours: ->(seconds) { Plait.timeout(seconds) { sleep } },
    condition_variable: ->(seconds) { Mutex.new.then { |m| m.synchronize { ConditionVariable.new.wait(m, seconds) } } },
    select: ->(seconds) { with_pipe { |reader, _| IO.select([reader], nil, nil, seconds) } },
    wait_readable: ->(seconds) { with_pipe { |reader, _| reader.wait_readable(seconds) } },
    timeout_of_an_io: ->(seconds) { with_pipe { |reader, _| (reader.timeout = possible(seconds)) && reader.read(1) } }
  }.freeze

  def self.with_pipe
    pipe = IO.pipe
    yield(*pipe)
  ensure
    pipe.each(&:close)
  end

  # From Ruby 3.2 on an IO's timeout has to be a Time's seconds.
  def self.possible(seconds) = IO.instance_method(:timeout).owner == IO && seconds > 10**12 ? 10**12 : seconds

  WAITS.each do |name, wait|
    define_method(:"test_a_far_#{name}_is_cancelled") do
      FAR.each do |far|
        assert_no_leaks { assert_equal([Cancelled, :slept], cancelled { wait.call(far) }, far.to_s[0, 20]) }
      end
    end

    # A number that is neither before nor after any other would end the loop, and all its fibers.
    define_method(:"test_no_number_for_a_#{name}_is_an_error_of_the_caller_alone") do
      slept = []
      with_scheduler do |_|
        Fiber.schedule { sleep(0.01).then { slept << true } }
        Fiber.schedule { assert_raises(RangeError, Plait::UsageError) { wait.call(Float::NAN) } }
      end

      assert_equal [true], slept
    end
  end

  # The far one is in the same heap: what comes before it must not wait for it, nor what comes after it be lost.
  def test_near_timers_beside_far_ones
    seen = []
    with_scheduler do |scheduler|
      far = FAR.map { |seconds| Fiber.schedule { ignoring_cancellation { sleep(seconds) } } }
      [0.3, 0.01].each { |seconds| Fiber.schedule { sleep(seconds).then { seen << seconds } } }
      Fiber.schedule { sleep(0.4).then { far.each { |fiber| scheduler.interrupt(fiber, Cancelled) } } }
    end
    assert_equal([0.01, 0.3], seen)
  end

  # What the selector is given is bounded; that a poll ends without an event must wake nobody. With a watchdog it is the
  # loop in Ruby that turns: the native one has the bound in C.
  def test_a_timer_past_the_longest_poll
    with_longest_poll(0.005) do
      started = now
      took, ready = in_fiber(blocking: :record) do
        sleep(0.05)
        [now - started, self.class.with_pipe { |reader, _| reader.wait_readable(0.03) }]
      end
      assert_operator(took, :>=, 0.05)
      assert_nil(ready)
    end
  end

  def test_an_alarm_that_is_far
    rang = false
    with_scheduler do |scheduler|
      FAR.each { |seconds| scheduler.after(seconds) { rang = true } }
      Fiber.schedule { sleep(0.01) }
    end
    refute(rang)
  end

  # --- Many that are cancelled

  MANY = 20_000

  def test_cancelled_timeouts_do_not_pile_up
    { timeout: -> { Timeout.timeout(1e9) { nil } }, ours: -> { Plait.timeout(1e9) { sleep(0) } } }.each do |name, wait|
      size = in_fiber do |scheduler|
        MANY.times { wait.call }
        timers(scheduler).size
      end
      assert_operator(size, :<=, bound, name.to_s)
    end
  end

  def test_cancelled_alarms_do_not_pile_up
    size = in_fiber do |scheduler|
      MANY.times { scheduler.after(1e9) { flunk }.cancel }
      timers(scheduler).size
    end
    assert_operator(size, :<=, bound)
  end

  # Nor does what they held: the fiber, the block and what that sees.
  def test_what_cancelled_ones_held_is_freed
    left = in_fiber do |scheduler|
      2_000.times { hold_for_a_moment(scheduler) }
      4.times { GC.start.then { sleep(0) } }
      ObjectSpace.each_object(Held).count
    end
    assert_operator(left, :<=, bound)
  end

  def test_cancelled_sleeps_in_many_fibers
    size = nil
    with_scheduler do |scheduler|
      fibers = Array.new(500) { Fiber.schedule { ignoring_cancellation { sleep(1e9) } } }
      Fiber.schedule do
        fibers.each { |fiber| scheduler.interrupt(fiber, Cancelled) }
        wait_until { fibers.none?(&:alive?) }
        size = timers(scheduler).size
      end
    end
    assert_operator(size, :<=, bound)
  end

  private

  Held = Class.new

  def hold_for_a_moment(scheduler)
    held = Held.new
    scheduler.after(1e9) { held }.cancel
  end

  # Dead entries that may lie about, at most, and the one of the test itself.
  def bound = (2 * Plait::Scheduler.const_get(:Timers)::COMPACT_FROM) + 1

  def timers(scheduler) = scheduler.instance_variable_get(:@timers)

  # @return [Array] how the block ended, and whether its fiber can still sleep
  def cancelled(&block)
    events = []
    with_scheduler do |scheduler|
      fiber = Fiber.schedule do
        ignoring_cancellation(events, &block)
        sleep(0.001)
        events << :slept
      end
      Fiber.schedule { scheduler.interrupt(fiber, Cancelled) }
    end
    events
  end

  def ignoring_cancellation(events = [])
    events << yield
  rescue Cancelled => e
    events << e.class
  end

  def with_longest_poll(seconds)
    was = Plait::Scheduler::LONGEST_POLL
    Plait::Scheduler.send(:remove_const, :LONGEST_POLL)
    Plait::Scheduler.const_set(:LONGEST_POLL, seconds)
    yield
  ensure
    Plait::Scheduler.send(:remove_const, :LONGEST_POLL)
    Plait::Scheduler.const_set(:LONGEST_POLL, was)
  end
end
