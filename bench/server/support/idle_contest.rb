# frozen_string_literal: true

require_relative "contest"
require_relative "crowd"

module Bench
  module Server
    # What connections without a request in flight cost: each has been answered once, and is kept. The case has the sizes
    # `connections` and `seconds`.
    class IdleContest < Contest
      GROWTH = Harness::Metric.figure("growth_mb", unit: "MB")
      EACH = Harness::Metric.figure("kb_per_connection", unit: "kB")
      KEPT = Harness::Metric.figure("connections_kept", unit: "connections", lower_is_better: false)
      # Of the load before it: what a server needs to answer at all is not counted.
      FEW = 64

      private

      def metrics = [EACH, GROWTH, KEPT, MEMORY]

      def warm_up(served, _trial)
        Wrk.load(served.port, FEW, 1)
        served.settle
      end

      def compete(served, trial)
        before = served.memory
        Crowd.gather(served.port, connections: trial[:connections], requests: 1, seconds: trial[:seconds]) do |report|
          check(served)
          served.settle
          { operations: trial[:connections], figures: figures(report, trial, served.memory, before) }
        end
      end

      def figures(report, trial, after, before)
        { "kb_per_connection" => (after - before) / 1e3 / trial[:connections], "growth_mb" => (after - before) / 1e6,
          "connections_kept" => report.answered - report.errors, "rss_mb" => after / 1e6 }
      end
    end
  end
end
