# frozen_string_literal: true

require_relative "../harness/definition"

Bench::Harness.define("pool") do |bench|
  metric = Bench::Harness::Metric
  bench.title "take a connection of a pool of 16 and give it back, 1,000,000 times, with nobody else there (--quick: 100,000)"
  bench.sizes times: [1_000_000, 100_000]
  bench.metrics metric.cpu("checkout"), metric.wall("checkout")
  bench.goal metric: "cpu_us_per_checkout", against: "connection_pool", at_most: 0.5

  bench.plait do |trial|
    pool = Plait::Pool.new(size: 16, close: ->(_) {}) { Object.new }
    trial.measure(operations: trial[:times]) { |count| count.times.sum { pool.with { |_| 1 } } }
  end

  bench.peer("connection_pool", gems: %w[connection_pool]) do |trial|
    require "connection_pool"
    pool = ConnectionPool.new(size: 16) { Object.new }
    trial.measure(operations: trial[:times]) { |count| count.times.sum { pool.with { |_| 1 } } }
  end

  bench.floor("a Queue") do |trial|
    pool = Queue.new(Array.new(16) { Object.new })
    trial.measure(operations: trial[:times]) do |count|
      count.times.sum do
        connection = pool.pop
        begin
          1
        ensure
          pool << connection
        end
      end
    end
  end
end
