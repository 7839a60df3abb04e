# frozen_string_literal: true

require_relative "stopwatch"

module Bench
  module RPC
    # Measures small calls: how many a second, what they cost, and how late the latest are.
    module SmallCalls
      STALL = 0.038

      module_function

      # @param trial [Harness::Trial] with the size `calls`
      # @param server [ServerProcess]
      # @yieldparam count [Integer] calls
      # @yieldparam times [Array<Float>, nil] where each call's seconds go
      # @yieldreturn [Integer] the sum of the answers
      def measure(trial, server, warm_up: 400)
        yield(warm_up, nil)
        times = []
        watch = Stopwatch.new(server)
        result = yield(trial[:calls], times)
        watch.stop
        trial.report(operations: trial[:calls], wall: watch.wall, cpu: watch.cpu, result: result,
                     figures: { "calls_per_s" => trial[:calls] / watch.wall, **lateness(times) })
      end

      # @return [Object] what the block returns
      def timed(times)
        return yield unless times

        started = Harness::Meter.wall
        yield.tap { times << (Harness::Meter.wall - started) }
      end

      def lateness(times)
        return {} if times.empty?

        { "p99_us" => times.sort[(times.size * 0.99).floor] * 1e6, "stalls_over_38_ms" => times.count { |time| time > STALL } }
      end
    end
  end
end
