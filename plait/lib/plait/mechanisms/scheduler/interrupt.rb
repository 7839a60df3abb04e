# frozen_string_literal: true

require_relative "../compat"

module Plait
  class Scheduler
    # An exception on its way to a fiber. The loop delivers it, so that it arrives where the fiber waits.
    class Interrupt
      # A fiber that runs another one inside itself (an Enumerator, say) can't be raised into until that one is done.
      RETRY_AFTER = 0.01

      # @return [Fiber, nil] nil once it was delivered or withdrawn
      attr_reader :fiber
      # @return [Float, nil] monotonic seconds, for one that is a timer
      attr_accessor :at

      # @yieldreturn [Boolean] whether it still concerns the fiber, asked at the last moment
      def initialize(fiber, exception, message = nil, &valid)
        @fiber = fiber
        @arguments = [exception, message].compact
        @valid = valid
      end

      def void = @fiber = nil

      def fire(scheduler) = @fiber && scheduler.ready(self)

      # @param scheduler [Scheduler]
      def dispatch(scheduler)
        return unless @fiber&.alive?
        return scheduler.ready(self) if outrun?(scheduler)

        deliver(scheduler) if @valid.nil? || @valid.call
      end

      private

      # A wake-up that came first wins, once: what it was for (an entry in a queue, a mutex) would else be nobody's.
      def outrun?(scheduler) = !@outrun && (@outrun = scheduler.woken?(@fiber))

      def deliver(scheduler)
        fiber = @fiber
        @fiber = nil
        Mechanisms::Compat.innermost(fiber).raise(*@arguments)
      rescue FiberError => e
        raise unless fiber.alive? && refused?(e)

        @fiber = fiber
        scheduler.arm(self, RETRY_AFTER)
      end

      # @return [Boolean] whether the error is of Fiber#raise above, and not one that the fiber has died of
      def refused?(error) = error.backtrace_locations&.first&.path == __FILE__
    end
  end
end
