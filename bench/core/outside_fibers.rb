# frozen_string_literal: true

require_relative "../harness/definition"

# What code outside of fibers pays once a map has run on fibers: Ruby's own methods, whose patches act in fibers only.
calls = {
  "fiber-resume" => -> { Fiber.new { loop { Fiber.yield } }.then { |fiber| -> { fiber.resume } } },
  "enumerator-next" => -> { [1].cycle.then { |values| -> { values.next } } },
  "thread-join" => -> { Thread.new { nil }.tap(&:join).then { |thread| -> { thread.join(1) } } },
  "file-open" => -> { -> { File.open(File::NULL) { nil } } },
  "file-read" => -> { -> { File.read(__FILE__) } }
}

calls.each do |name, make|
  Bench::Harness.define("outside-fibers-#{name}") do |bench|
    bench.title "#{name} in a plain thread, after a map on fibers and without"
    bench.sizes calls: [100_000, 10_000]
    bench.rounds 9
    bench.metrics Bench::Harness::Metric.cpu("call")
    bench.goal metric: "cpu_us_per_call", against: "Ruby alone", at_most: 1.05

    run = lambda do |trial|
      call = make.call
      trial.measure(operations: trial[:calls]) { |count| count.times { call.call } && 0 }
    end

    bench.plait do |trial|
      Plait.map([1, 2], on: :fibers, &:itself)
      run.call(trial)
    end

    bench.floor("Ruby alone") { |trial| run.call(trial) }
  end
end
