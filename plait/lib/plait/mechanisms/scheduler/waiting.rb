# frozen_string_literal: true

require_relative "alarm"
require_relative "wait"
require_relative "../../values/deadline"
require_relative "../../values/errors"

module Plait
  class Scheduler
    # How a fiber waits: its {Wait} lies with whoever will end it, and perhaps in the timers.
    module Waiting
      # Calls the block on the loop, between two fibers: it must not wait. One alarm for many deadlines costs less than a
      # timer for each. It does not keep the loop running when nothing else is left to do; what it raises ends the loop.
      # @param seconds [Numeric] from now
      # @return [Alarm] which can be cancelled, by the loop's own thread
      # @raise [UsageError] in another thread
      def after(seconds, &block)
        raise UsageError, "Scheduler#after belongs to the thread of the loop" unless Thread.current.equal?(thread)

        Alarm.new(self, block).tap { |alarm| arm(alarm, seconds) }
      end

      # Hands control to the loop until something readies the current fiber.
      # @api private
      def suspend
        @ticks += 1
        @loop.transfer
      end

      # Suspends the current fiber until its wait is woken.
      # @param timeout [Numeric, nil] seconds
      # @yieldparam wait [Wait]
      # @return [Boolean] whether it was woken, not timed out
      # @api private
      def park(timeout = nil)
        wait = Wait.new(Fiber.current)
        arm(wait, timeout) if timeout
        yield wait if block_given?
        suspend
        wait.woken?
      ensure
        disarm(wait) if wait
      end

      # @api private
      def wake(wait)
        ready(wait) if wait&.wake
      end

      # What can't be compared with other times would end the loop, and all fibers with it.
      # @raise [RangeError] where Kernel#sleep would, too
      # @api private
      def arm(timer, seconds)
        at = Deadline.now + seconds
        raise RangeError, "NaN out of Time range" unless at <= Float::INFINITY

        timer.at = at
        @timers.push(timer)
      end

      # @api private
      def disarm(timer)
        return unless timer.fiber

        timer.void
        @timers.cancelled if timer.at
      end

      private

      # @return [Numeric, nil] seconds until the next timer, or until the bound
      def interval(bound)
        at = @timers.next_at
        at ? [(at - Deadline.now).clamp(0, LONGEST_POLL), bound].compact.min : bound
      end

      def fire_timers
        now = Deadline.now
        while (timer = @timers.due(now))
          timer.fire(self)
        end
      end
    end
  end
end
