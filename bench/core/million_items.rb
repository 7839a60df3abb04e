# frozen_string_literal: true

require_relative "../harness/definition"

# What a map keeps of its items besides the values.
Bench::Harness.define("million-items") do |bench|
  metric = Bench::Harness::Metric
  bench.title "a map of 1,000,000 items that cost nothing, in the caller and on fibers (--quick: 50,000)"
  bench.sizes items: [1_000_000, 50_000]
  bench.rounds 5
  bench.metrics metric.memory("item"), metric.cpu("item")
  bench.goal metric: "kb_per_item", at_most: 0.06

  bench.plait do |trial|
    trial.measure(operations: trial[:items]) { |count| Plait.map(1..count, on: :fibers, limit: 8, &:succ).sum }
  end

  bench.peer("plait, on: :sequence", gems: %w[plait]) do |trial|
    trial.measure(operations: trial[:items]) { |count| Plait.map(1..count, on: :sequence, &:succ).sum }
  end

  bench.peer("parallel, 2 threads", gems: %w[parallel]) do |trial|
    require "parallel"
    trial.measure(operations: trial[:items]) { |count| Parallel.map(1..count, in_threads: 2, &:succ).sum }
  end

  bench.floor("an array of the values") do |trial|
    trial.measure(operations: trial[:items]) { |count| (1..count).map(&:succ).sum }
  end
end
