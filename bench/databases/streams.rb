# frozen_string_literal: true

require_relative "../harness/definition"
require_relative "support/streams"

metric = Bench::Harness::Metric
gems = Bench::Databases::BareDrivers::GEMS.except("redis")

gems.to_a.product(%i[threads fibers]).each do |(driver, gem), kind|
  Bench::Harness.define("stream-#{driver}-#{kind}") do |bench|
    bench.title "300,000 rows by `stream`, beside one of the #{kind} that sleeps 1 ms at a time (--quick: 30,000)"
    bench.sizes copies: [10, 1]
    bench.metrics metric.figure("growth_mb", unit: "MB"), metric.figure("longest_stall_ms", unit: "ms"), metric.wall("row")
    bench.goal metric: "growth_mb", at_most: 10
    bench.goal metric: "longest_stall_ms", at_most: 20
    bench.plait(gems: [gem]) { |trial| Bench::Databases::Streams.new(trial, driver, kind).stream }
  end
end

gems.except("sqlite").each do |driver, gem|
  Bench::Harness.define("prepared-#{driver}") do |bench|
    bench.title "10 prepared statements of 0.1 s at once, in fibers"
    bench.sizes statements: 10
    bench.metrics metric.wall("query"), metric.cpu("query")
    bench.goal metric: "wall_us_per_query", at_most: 20_000 # 0.2 s in all, and 1 s one after another
    bench.plait(gems: [gem]) { |trial| Bench::Databases::Streams.new(trial, driver, :fibers).prepared }
  end
end
