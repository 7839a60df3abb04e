# frozen_string_literal: true

module Bench
  module Databases
    # Many who want a connection again and again, and how long each has waited for it.
    class Crowd
      HOLD = 0.001

      # @param kind [Symbol] :threads or :fibers, the latter under Plait's scheduler for all contestants
      def initialize(trial, kind)
        @trial = trial
        @kind = kind
      end

      # @yieldparam held [Proc] to be called with a connection as long as it is lent
      def measure(&lend)
        waits = []
        @trial.measure(operations: @trial[:times], figures: -> { figures(waits) }) do |count|
          waits = run(count, &lend)
          waits.size
        end
      end

      private

      def run(count, &lend)
        each = [count / @trial[:crowd], 1].max
        waits = Array.new(@trial[:crowd]) { [] }
        Plait.map(waits, on: @kind, limit: @trial[:crowd]) { |own| each.times { own << wait(lend) } }
        waits.flatten
      end

      def wait(lend)
        asked = now
        got = nil
        held = lambda do |_|
          got = now
          sleep(HOLD)
        end
        lend.call(&held)
        got - asked
      end

      def figures(waits)
        sorted = waits.sort
        p50, p99 = [0.5, 0.99].map { |part| sorted[(part * (sorted.size - 1)).round] }
        { "p50_wait_ms" => p50 * 1e3, "p99_wait_ms" => p99 * 1e3, "p99_to_p50" => p99 / p50 }
      end

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
