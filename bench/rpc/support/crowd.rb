# frozen_string_literal: true

require_relative "../../harness/native_process"
require_relative "../../harness/meter"

module Bench
  module RPC
    # Runs the clients in C, each with a connection of its own, and measures their server.
    module Crowd
      SOURCE = File.expand_path("../crowd.c", __dir__)

      module_function

      # @param trial [Harness::Trial] with the size `calls`
      # @param server [ServerProcess]
      # @param clients [Integer]
      def measure(trial, server, clients)
        warm_up = [trial[:calls] / 5, 4 * clients].max
        crowd = Harness::NativeProcess.new(SOURCE, server.port, clients, trial[:calls], warm_up)
        crowd.line
        before = server.cpu
        crowd.go
        wall, sum = crowd.line.split
        report(trial, server.cpu - before, Float(wall), Integer(sum))
      end

      def report(trial, cpu, wall, sum)
        calls = trial[:calls]
        trial.report(operations: calls, wall: wall, cpu: cpu, result: [calls, sum].all?(&:positive?),
                     figures: { "calls_per_s" => calls / wall, "server_cpu_us_per_call" => cpu * 1e6 / calls })
      end
    end
  end
end
