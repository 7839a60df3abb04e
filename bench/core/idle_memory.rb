# frozen_string_literal: true

require_relative "../harness/definition"
require_relative "support/idle_tasks"

# Two descriptors a pipe: 9,000 pipes are what a hard limit of 20,000 allows.
{ sleep: ["sleep", 10_000], pipe: ["read from a pipe of their own", 9_000] }.each do |wait, (words, most)|
  Bench::Harness.define("idle-memory-#{wait}") do |bench|
    metric = Bench::Harness::Metric
    bench.title "memory of one more waiting task: #{most} that #{words} (--quick: 2,000)"
    bench.sizes tasks: [most, 2_000]
    bench.rounds 3
    bench.metrics metric.memory("task")
    bench.goal metric: "kb_per_task", against: "async", at_most: 1

    bench.plait do |trial|
      tasks = Bench::Core::IdleTasks.new(trial, wait)
      Plait.run(on: :fibers) { |scope| tasks.report { |body| scope.async(&body) } }
    end

    bench.peer("async", gems: %w[async]) do |trial|
      require_relative "support/async_peer"
      tasks = Bench::Core::IdleTasks.new(trial, wait)
      Async { |parent| tasks.report { |body| parent.async(&body) } }
    end

    bench.peer("threads") do |trial|
      Bench::Core::IdleTasks.new(trial, wait).report { |body| Thread.new(&body) }
    end

    # Suspended before it waits for anything: the stack alone.
    bench.floor("bare fibers") do |trial|
      Bench::Core::IdleTasks.new(trial, wait).report_suspended
    end
  end
end
