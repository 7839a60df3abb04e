# frozen_string_literal: true

require_relative "../harness/definition"
require_relative "support/overload"

metric = Bench::Harness::Metric

# A query in ten hangs, and each has 30 ms: what becomes of the other nine?
{ "postgres" => "pg", "trilogy" => "trilogy", "mysql2" => "mysql2" }.each do |driver, gem|
  %i[threads fibers].each do |kind|
    Bench::Harness.define("overload-#{driver}-#{kind}") do |bench|
      bench.title "1,511 queries of 30 ms at most, 16 at once on 16 connections; each tenth takes a second (--quick: 302)"
      bench.sizes queries: [1_511, 302], crowd: 16, connections: 16, limit: 0.03
      bench.metrics metric.figure("lost_per_1000", unit: "queries"),
                    metric.figure("healthy", unit: "queries", lower_is_better: false), metric.cpu("query"), metric.wall("query")
      bench.goal metric: "lost_per_1000", at_most: 22 # 1,330 of 1,360
      bench.plait(gems: [gem]) { |trial| Bench::Databases::Overload.new(trial, driver, kind).plait }
      if kind == :threads
        bench.peer("connection_pool", gems: ["connection_pool", "plait", gem]) do |trial|
          Bench::Databases::Overload.new(trial, driver, kind).connection_pool
        end
      end
    end
  end
end

Bench::Harness.define("transactions-cut") do |bench|
  bench.title "800 transactions of 10 ms on PostgreSQL, each with a time of 0 to 60 ms, 16 at once on 16 threads (--quick: 160)"
  bench.sizes queries: [800, 160], crowd: 16, connections: 16
  bench.metrics metric.figure("done_of_possible", unit: "×", lower_is_better: false), metric.cpu("query"), metric.wall("query")
  bench.goal metric: "done_of_possible", at_least: 0.7
  bench.plait(gems: ["pg"]) { |trial| Bench::Databases::Overload.new(trial, "postgres", :threads).transactions }
end
