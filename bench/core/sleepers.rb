# frozen_string_literal: true

require_relative "../harness/definition"

# Every length once, in a fixed disorder; the same in floor.c.
sleep_times = ->(count) { Array.new(count) { |index| 0.1 + (0.9 * (index * 7919 % count) / count) } }

Bench::Harness.define("sleepers") do |bench|
  metric = Bench::Harness::Metric
  bench.title "10,000 tasks sleep between 0.1 s and 1 s at the same time (--quick: 2,000)"
  bench.sizes sleepers: [10_000, 2_000]
  bench.metrics metric.cpu("sleeper"), metric.seconds, metric.memory("sleeper")

  bench.plait do |trial|
    times = sleep_times.call(trial[:sleepers])
    trial.measure(operations: trial[:sleepers]) do |count|
      Plait.run(on: :fibers) do |scope|
        times.first(count).map { |time| scope.async { sleep(time) && 1 } }.sum(&:value)
      end
    end
  end

  bench.peer("async", gems: %w[async]) do |trial|
    require_relative "support/async_peer"
    times = sleep_times.call(trial[:sleepers])
    trial.measure(operations: trial[:sleepers]) do |count|
      Async { |parent| times.first(count).map { |time| parent.async { sleep(time) && 1 } }.sum(&:wait) }.wait
    end
  end

  bench.peer("threads") do |trial|
    times = sleep_times.call(trial[:sleepers])
    trial.measure(operations: trial[:sleepers]) do |count|
      times.first(count).map { |time| Thread.new { sleep(time) && 1 } }.sum(&:value)
    end
  end

  bench.floor("C, one sorted list of timers") do |trial|
    require_relative "support/floor"
    Bench::Core::Floor.report(trial, trial[:sleepers], "sleepers", trial[:sleepers])
  end
end
