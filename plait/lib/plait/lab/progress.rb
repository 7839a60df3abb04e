# frozen_string_literal: true

module Plait
  module Lab
    # Counts the steps of a session and tells a listener about them. Each event is a Hash with `:type`, `:done` and
    # `:total` (steps; a step is a timed trial or a memory pass) and:
    #
    # - `:session_started` with `:workload`
    # - `:trial_started` with `:cell`, `:round`; `:trial_finished` with `:cell`, `:round`, `:measurement`
    # - `:memory_started`, `:memory_finished` with `:cell`
    # - `:steps_skipped`: a cell that can't be run (any more) was passed over
    # - `:rounds_reduced` with `:rounds`: the budget is used up
    # - `:session_finished`
    class Progress
      # @param listener [#call, nil]
      # @param total [Integer] steps
      def initialize(listener, total)
        @listener = listener
        @total = total
        @done = 0
      end

      def started(workload) = tell(:session_started, workload: workload)

      def finished = tell(:session_finished)

      # @yieldreturn [Measurement]
      def trial(cell, round)
        tell(:trial_started, cell: cell, round: round)
        measurement = yield
        @done += 1
        tell(:trial_finished, cell: cell, round: round, measurement: measurement)
      end

      def memory(cell)
        tell(:memory_started, cell: cell)
        yield
        @done += 1
        tell(:memory_finished, cell: cell)
      end

      def skip
        @done += 1
        tell(:steps_skipped)
      end

      def shortened(rounds)
        @total = @done
        tell(:rounds_reduced, rounds: rounds)
      end

      private

      def tell(type, **facts) = @listener&.call({ type: type, done: @done, total: @total, **facts })
    end
  end
end
