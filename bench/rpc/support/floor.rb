# frozen_string_literal: true

require_relative "../../harness/native"
require_relative "contest"

module Bench
  module RPC
    # Runs the client and the server in C, which measure themselves.
    module Floor
      PROGRAM = Harness::Native.build(File.expand_path("../floor.c", __dir__))

      module_function

      # @param trial [Harness::Trial] with the size `calls` and, but for "add", `bytes`
      # @param what [String] get, put or add
      # @param bytes [Integer] of each answer or argument
      # @param connections [Integer]
      # @param window [Integer] calls at once on each connection
      def report(trial, what, bytes: 0, connections: 1, window: 1)
        warm_up = [2 * window * connections, 2].max
        told = Harness::Native.measure(PROGRAM, what, trial[:calls], bytes, connections, window, warm_up)
        trial.report(operations: trial[:calls], **told.slice("wall", "cpu", "result").transform_keys(&:to_sym),
                     figures: figures(told, trial[:calls], trial[:calls] * bytes / 1e6))
      end

      # @return [Hash{String => Numeric}] of the metrics of {Contest}
      def figures(told, calls, megabytes)
        figures = { "calls_per_s" => calls / told["wall"], "p99_us" => told["p99_us"], "stalls_over_38_ms" => told["stalls"] }
        return figures if megabytes.zero?

        figures.merge("mb_per_s" => megabytes / told["wall"], "cpu_us_per_mb" => told["cpu"] * 1e6 / megabytes,
                      "page_faults_per_mb" => told["faults"] / megabytes)
      end
    end
  end
end
