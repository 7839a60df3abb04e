# frozen_string_literal: true

require_relative "../harness/definition"
require_relative "support/rows"

metric = Bench::Harness::Metric

# What Plait::DB adds to the driver underneath.
Bench::Databases::BareDrivers::GEMS.each do |driver, gem|
  Bench::Harness.define("row-#{driver}") do |bench|
    bench.title "a row by its key with #{driver}, 20,000 times, one after another on the main thread (--quick: 1,000)"
    bench.sizes times: [20_000, 1_000], rows: 1
    bench.metrics metric.cpu("query"), metric.wall("query")
    bench.goal metric: "cpu_us_per_query", against: gem, at_most: 1.33 # 0.75 of its speed
    bench.plait(gems: [gem]) { |trial| Bench::Databases::Rows.new(trial, driver).plait }
    bench.peer(gem, gems: [gem]) { |trial| Bench::Databases::Rows.new(trial, driver).bare }
  end
end

Bench::Harness.define("rows-sqlite") do |bench|
  bench.title "100 rows of SQLite, 2,000 times, one after another on the main thread (--quick: 100)"
  bench.sizes times: [2_000, 100], rows: 100
  bench.metrics metric.cpu("query"), metric.wall("query")
  bench.goal metric: "cpu_us_per_query", against: "sqlite3", at_most: 1.25 # 0.8 of its speed
  bench.plait(gems: ["sqlite3"]) { |trial| Bench::Databases::Rows.new(trial, "sqlite").plait }
  bench.peer("sqlite3", gems: ["sqlite3"]) { |trial| Bench::Databases::Rows.new(trial, "sqlite").bare }
end
