# frozen_string_literal: true

require_relative "../../harness/meter"
require_relative "fair_queue"

module Bench
  module Databases
    # Many who want a connection again and again, and how long each has waited for it.
    class Crowd
      HOLD = 0.001
      private_constant :HOLD

      # @param kind [Symbol] :threads or :fibers, the latter under Plait's scheduler for all contestants
      def initialize(trial, kind)
        @trial = trial
        @kind = kind
      end

      # @yieldparam held [Proc] to be called with a connection as long as it is lent
      def measure(&lend)
        turns = []
        @trial.measure(operations: @trial[:times], figures: -> { figures(turns) }) do |count|
          turns = run(count, &lend)
          turns.size
        end
      end

      private

      # @return [Array<Array(Float, Float, Float)>] when each asked, got and gave back
      def run(count, &lend)
        each = [count / @trial[:crowd], 1].max
        turns = Array.new(@trial[:crowd]) { [] }
        Plait.map(turns, on: @kind, limit: @trial[:crowd]) { |own| each.times { own << turn(lend) } }
        turns.flatten(1)
      end

      def turn(lend)
        asked = now
        got = done = nil
        held = lambda do |_|
          got = now
          sleep(HOLD)
          done = now
        end
        lend.call(&held)
        [asked, got, done]
      end

      def figures(turns)
        waits = turns.map { |asked, got, _| got - asked }.sort
        p50, p99 = [0.5, 0.99].map { |part| at(waits, part) }
        { "p50_wait_ms" => p50 * 1e3, "p99_wait_ms" => p99 * 1e3, "longest_wait_ms" => waits.last * 1e3,
          "p99_to_p50" => p99 / p50, "p99_to_fair" => p99 / at(FairQueue.new(@trial[:connections]).waits(turns).sort, 0.99) }
      end

      def at(sorted, part) = sorted[(part * (sorted.size - 1)).round]

      def now = Harness::Meter.wall
    end
  end
end
