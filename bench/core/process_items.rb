# frozen_string_literal: true

require_relative "../harness/definition"

# What two processes cost for items that wait. What the items themselves cost is the same on both sides.
cases = {
  "process-items-1ms" => ["600 items of 1 ms", 600, 60, 0.001],
  "process-items-10ms" => ["200 items of 10 ms", 200, 20, 0.01],
  "process-two-items" => ["two items that cost nothing", 2, 2, 0.0]
}

cases.each do |name, (what, full, quick, seconds)|
  Bench::Harness.define(name) do |bench|
    metric = Bench::Harness::Metric
    bench.title "#{what} through two processes, start and end included"
    bench.sizes items: [full, quick], seconds: seconds
    bench.rounds 9
    bench.metrics metric.cpu("item"), metric.wall("item")
    bench.goal metric: "cpu_us_per_item", against: "parallel", at_most: 1.0

    bench.plait do |trial|
      pause = trial[:seconds]
      trial.measure(operations: trial[:items]) do |count|
        Plait.map(1..count, on: :processes, limit: 2) { |item| sleep(pause) && item }.sum
      end
    end

    bench.peer("parallel", gems: %w[parallel]) do |trial|
      require "parallel"
      pause = trial[:seconds]
      trial.measure(operations: trial[:items]) do |count|
        Parallel.map(1..count, in_processes: 2) { |item| sleep(pause) && item }.sum
      end
    end
  end
end
