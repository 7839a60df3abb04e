# frozen_string_literal: true

require_relative "../harness/definition"

Bench::Harness.define("reshard") do |bench|
  bench.title "a fourth server for keys of 10 bytes on three"
  bench.rounds 3
  bench.sizes keys: [200_000, 20_000]
  bench.metrics Bench::Harness::Metric.cpu("key"),
                Bench::Harness::Metric.figure("keys_per_s", unit: "1/s", lower_is_better: false),
                Bench::Harness::Metric.figure("moved_per_s", unit: "1/s", lower_is_better: false)
  bench.goal metric: "keys_per_s", at_least: 20_000
  bench.plait do |trial|
    require_relative "support/reshard"
    Bench::Shard::Reshard.report(trial)
  end
end
