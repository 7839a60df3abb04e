# frozen_string_literal: true

module Plait
  class Scheduler
    # Another thread's word that a fiber may go on.
    class Unblock
      def initialize(blocker, fiber)
        @blocker = blocker
        @fiber = fiber
      end

      def dispatch(scheduler) = scheduler.unblocked(@blocker, @fiber)
    end
  end
end
