# frozen_string_literal: true

module Plait
  class Scheduler
    # Something that the loop does between two fibers.
    class Errand
      def initialize(work)
        @work = work
      end

      def dispatch(_scheduler) = @work.call
    end
  end
end
