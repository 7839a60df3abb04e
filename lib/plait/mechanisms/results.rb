# frozen_string_literal: true

module Plait
  module Mechanisms
    # One enumeration of a run's outcomes.
    #
    # Asked from outside (`next`, `peek`, `zip`), Ruby runs an enumeration in a fiber of its own and suspends it between two
    # values. An event loop can't be suspended there: its scheduler is the whole thread's. So then the run has a thread.
    class Results
      # The frame below all others in the fiber of an Enumerator.
      OUTSIDE = /(?:\A|[#.])each\z/
      private_constant :OUTSIDE

      # @param coordinator [Coordinator]
      def initialize(coordinator)
        @coordinator = coordinator
      end

      # @param outcomes [Enumerator::Yielder]
      # @return [void]
      def each(outcomes)
        return on_a_thread(outcomes) if @coordinator.looping? && asked_from_outside?

        @coordinator.each { |outcome| outcomes << outcome }
      end

      private

      def asked_from_outside? = caller_locations.last.label.match?(OUTSIDE)

      def on_a_thread(outcomes)
        queue = Thread::SizedQueue.new(1)
        thread = Thread.new { run(queue) }
        thread.report_on_exception = false
        while (outcome = queue.pop)
          outcomes << outcome
        end
        thread.value
      ensure
        thread.kill.join
      end

      def run(queue)
        @coordinator.each { |outcome| queue << outcome }
      ensure
        queue.close
      end
    end
  end
end
