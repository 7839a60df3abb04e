# frozen_string_literal: true

require_relative "../harness/definition"

Bench::Harness.define("process-pool") do |bench|
  metric = Bench::Harness::Metric
  bench.title "30,000 items that cost nothing through two processes, start and end included (--quick: 5,000)"
  bench.sizes items: [30_000, 5_000]
  bench.metrics metric.wall("item"), metric.cpu("item")
  bench.goal metric: "wall_us_per_item", at_most: 10
  bench.goal metric: "wall_us_per_item", against: "parallel", at_most: 0.1

  items = ->(count) { Array.new(count) { |index| index } }
  succ = ->(item) { item + 1 }

  bench.plait do |trial|
    trial.measure(operations: trial[:items]) do |count|
      Plait.map(items.call(count), on: :processes, limit: 2, &succ).sum
    end
  end

  bench.peer("parallel", gems: %w[parallel]) do |trial|
    require "parallel"
    trial.measure(operations: trial[:items]) { |count| Parallel.map(items.call(count), in_processes: 2, &succ).sum }
  end

  # What its users do by hand against the cost of an item.
  bench.peer("parallel, sliced by hand", gems: %w[parallel]) do |trial|
    require "parallel"
    trial.measure(operations: trial[:items]) do |count|
      slices = items.call(count).each_slice(1_000).to_a
      Parallel.flat_map(slices, in_processes: 2) { |slice| slice.map(&succ) }.sum
    end
  end

  # Two halves, each one message: nothing is fetched, balanced or retried.
  bench.floor("fork, pipe, two halves") do |trial|
    require_relative "support/by_hand"
    trial.measure(operations: trial[:items]) { |count| Bench::Core::ByHand.processes(items.call(count), 2, &succ).sum }
  end
end
