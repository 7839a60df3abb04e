# frozen_string_literal: true

require "socket"
require "tmpdir"
require "plait"
require "plait/mechanisms/scheduler"
require_relative "run_queue"

# What the tests of the scheduler share: running blocks in fibers on a thread of their own, and measuring whether calls
# really wait together.
module SchedulerCases
  # The first scheduler would do this too late for a constant such as IO::TimeoutError.
  Plait.const_get(:Patches).install

  # The issue's bounds for ten calls of 0.1 s.
  ONE = 0.1
  CALLS = 10
  TOGETHER = (ONE * 1.3) + 0.05
  STALL = 0.015
  # Values are checked in each of them, the rest in the best: other processes may have the machine just now.
  TRIES = 40

  # What one try has shown. `stall`: seconds that a fiber beside the calls was kept from running, at worst. `kept`: how much of
  # that may be the machine's. `peak`: calls under way at once.
  Timing = Struct.new(:seconds, :stall, :kept, :peak, keyword_init: true) do
    def within?(together, stall) = own(seconds) <= together && own(self.stall) <= stall

    def own(seconds) = [seconds - kept, 0].max

    def to_s = format("%.3f s, stall %.1f ms, %.1f ms of it the machine's, %d at once", seconds, stall * 1000, kept * 1000, peak)
  end

  # Keeps asking for a millisecond, and remembers the longest time until it got its turn again.
  class Ticker
    PERIOD = 0.001

    def initialize
      @longest = 0
      @fiber = Fiber.schedule { tick }
    end

    def stop
      @over = true
      @longest - PERIOD
    end

    private

    def tick
      last = SchedulerCases.now
      until @over
        sleep(PERIOD)
        now = SchedulerCases.now
        @longest = [@longest, now - last].max
        last = now
      end
    end
  end

  # Ten calls side by side.
  class Measurement
    # @param calls [Array<Proc>]
    def initialize(calls)
      @calls = calls
      @under_way = @peak = 0
      @values = []
    end

    attr_reader :values

    # @return [Timing]
    def take
      stall = nil
      seconds, kept = Support::RunQueue.measure { stall = run }
      Timing.new(seconds: seconds, stall: stall, kept: kept, peak: @peak)
    end

    private

    def run
      ticker = Ticker.new
      fibers = @calls.each_with_index.map { |call, index| Fiber.schedule { count { @values[index] = call.call } } }
      sleep(0.001) while fibers.any?(&:alive?)
      ticker.stop
    end

    def count
      @under_way += 1
      @peak = [@peak, @under_way].max
      yield
    ensure
      @under_way -= 1
    end
  end

  module_function

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  # Runs the block on a thread with a scheduler, outside of its fibers, and then what is left of them.
  # @return [Object] what the block returns
  def with_scheduler(**options)
    thread = Thread.new do
      scheduler = Plait::Scheduler.new(**options)
      Fiber.set_scheduler(scheduler)
      value = yield scheduler
      Fiber.set_scheduler(nil)
      value
    end
    thread.report_on_exception = false
    thread.value
  end

  # Runs the block in a fiber.
  # @return [Object] what the block returns
  def in_fiber(**options)
    value = error = nil
    with_scheduler(**options) do |scheduler|
      Fiber.schedule do
        value = yield scheduler
      rescue Exception => e
        error = e
      end
    end
    raise error if error

    value
  end

  # @param calls [Array<Proc>] run at once, each in a fiber
  # @return [Measurement, Timing]
  def measure(calls)
    measurement = Measurement.new(calls)
    timing = in_fiber { measurement.take }
    [measurement.values, timing]
  end

  def with_constant(holder, name, value)
    was = holder.const_get(name, false)
    holder.send(:remove_const, name)
    holder.const_set(name, value)
    yield
  ensure
    holder.send(:remove_const, name)
    holder.const_set(name, was)
  end

  # What a plain thread does after `seconds`.
  def later(seconds = ONE)
    thread = Thread.new do
      sleep(seconds)
      yield
    end
    thread.report_on_exception = false
    thread
  end

  # For the tests that measure.
  module Together
    # Ten calls at once are about as fast as one, and a fiber beside them is never kept waiting.
    # @param setup [Proc, nil] makes what a call is given
    # @param teardown [Symbol, Proc, nil]
    # @param value [Object] what each call has to return
    # @param cost [Proc] seconds that one call needs the machine for, besides waiting
    def assert_together(setup: nil, teardown: nil, value: (any = true), cost: -> { 0 }, &call)
      tries = []
      assert_no_leaks do
        TRIES.times do
          extra = cost.call
          timing = try_together(setup, teardown, call) { |values| assert_equal([value] * CALLS, values) unless any }
          return if timing.peak > 2 && timing.within?(TOGETHER + (CALLS * extra), STALL + (2 * extra))

          tries << "#{timing} (#{(extra * 1000).round(1)} ms each)"
        end
      end
      flunk("#{TOGETHER} s, #{STALL} s and more than two at once were never met together: #{tries.join("; ")}")
    end

    private

    def try_together(setup, teardown, call)
      subjects = Array.new(CALLS) { |index| setup&.call(index) }
      values, timing = SchedulerCases.measure(subjects.map { |subject| proc { call.call(subject) } })
      yield values
      timing
    ensure
      subjects&.each(&teardown) if teardown
    end
  end
end
