# frozen_string_literal: true

module Plait
  class Scheduler
    # One fiber's one wait. Whoever ends it first (an event, a timer, a cancellation) voids it, so that nothing that
    # comes later can wake the fiber out of some other wait.
    class Wait
      # @return [Fiber, nil] nil once the wait is over
      attr_reader :fiber
      # @return [Float, nil] monotonic seconds at which its timer fires
      attr_accessor :at

      def initialize(fiber, at = nil)
        @fiber = fiber
        @at = at
        @woken = false
      end

      # @return [Boolean] whether it ended by being woken, not by its timer
      def woken? = @woken

      # @return [Boolean] whether this call was the one that woke it
      def wake = @fiber && !@woken ? @woken = true : false

      def void = @fiber = nil

      # The scheduler's loop hands over to the fiber.
      def dispatch(_scheduler) = @fiber&.transfer

      # Its timer fired.
      def fire(scheduler) = @fiber && !@woken && scheduler.ready(self)
    end
  end
end
