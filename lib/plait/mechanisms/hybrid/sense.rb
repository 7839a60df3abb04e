# frozen_string_literal: true

require_relative "../fibers"
require_relative "../offload"
require_relative "../scheduler"

module Plait
  module Mechanisms
    class Hybrid < Fibers
      # Runs items in their fibers as long as they wait there. An item that held the loop for long without a single wait
      # gains nothing from a fiber and costs all the others: after two of those in a row the rest runs on the pool.
      class Sense
        # Seconds without a wait from which an item counts as blocking.
        BLOCKING = 0.01
        ENOUGH = 2

        def initialize(attempt)
          @attempt = attempt
          @in_a_row = 0
        end

        # @return [Outcome]
        def call(index, item, worker)
          return Offload.call { @attempt.call(index, item, worker) } if @in_a_row >= ENOUGH

          scheduler = Scheduler.current
          before = scheduler&.ticks
          outcome = @attempt.call(index, item, worker)
          judge(outcome, before == scheduler&.ticks) if scheduler
          outcome
        end

        private

        def judge(outcome, never_waited)
          blocked = never_waited && outcome.duration > BLOCKING
          @in_a_row = blocked ? @in_a_row + 1 : 0 unless @in_a_row >= ENOUGH
        end
      end
    end
  end
end
