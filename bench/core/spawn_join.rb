# frozen_string_literal: true

require_relative "../harness/definition"

Bench::Harness.define("spawn-join") do |bench|
  metric = Bench::Harness::Metric
  bench.title "start 100,000 tasks that do nothing, and take the value of each (--quick: 20,000)"
  bench.sizes tasks: [100_000, 20_000]
  bench.metrics metric.cpu("task"), metric.wall("task"), metric.memory("task")
  bench.goal metric: "cpu_us_per_task", against: "async", at_most: 0.35
  bench.goal metric: "wall_us_per_task", against: "async", at_most: 0.35

  bench.plait do |trial|
    trial.measure(operations: trial[:tasks]) do |count|
      Plait.run(on: :fibers) do |scope|
        tasks = Array.new(count) { |index| scope.async { index } }
        tasks.sum(&:value)
      end
    end
  end

  bench.peer("async", gems: %w[async]) do |trial|
    require_relative "support/async_peer"
    trial.measure(operations: trial[:tasks]) do |count|
      Async do |parent|
        tasks = Array.new(count) { |index| parent.async { index } }
        tasks.sum(&:wait)
      end.wait
    end
  end

  # Its own fixed pool of one thread a core: the default pool grows to a thread a task.
  bench.peer("concurrent-ruby futures", gems: %w[concurrent-ruby]) do |trial|
    require "concurrent"
    trial.measure(operations: trial[:tasks]) do |count|
      futures = Array.new(count) { |index| Concurrent::Promises.future_on(:fast, index) { |value| value } }
      futures.sum(&:value!)
    end
  end

  # A thousand at a time: 100,000 threads at once are more than the kernel allows.
  bench.peer("threads, 1,000 at a time") do |trial|
    trial.measure(operations: trial[:tasks]) do |count|
      (0...count).each_slice(1_000).sum { |slice| slice.map { |index| Thread.new { index } }.sum(&:value) }
    end
  end

  bench.floor("bare fibers") do |trial|
    trial.measure(operations: trial[:tasks]) { |count| (0...count).sum { |index| Fiber.new { index }.resume } }
  end
end
