# frozen_string_literal: true

require_relative "stopwatch"

module Bench
  module RPC
    # Measures how fast large values travel, and how much of it was for memory that the processes had not had before.
    module BigData
      module_function

      # @param trial [Harness::Trial] with the sizes `calls` and `bytes`
      # @param server [ServerProcess]
      # @yieldparam count [Integer] calls
      # @yieldreturn [Integer] bytes that have travelled
      def measure(trial, server, warm_up: 2)
        yield(warm_up)
        watch = Stopwatch.new(server)
        result = yield(trial[:calls])
        watch.stop
        megabytes = trial[:calls] * trial[:bytes] / 1e6
        trial.report(operations: trial[:calls], wall: watch.wall, cpu: watch.cpu, result: result,
                     figures: figures(watch, megabytes))
      end

      def figures(watch, megabytes)
        { "mb_per_s" => megabytes / watch.wall, "cpu_us_per_mb" => watch.cpu * 1e6 / megabytes,
          "page_faults_per_mb" => watch.faults / megabytes }
      end
    end
  end
end
