# frozen_string_literal: true

require_relative "../harness/definition"
require_relative "support/crowd"

%i[threads fibers].each do |kind|
  Bench::Harness.define("pool-contended-#{kind}") do |bench|
    metric = Bench::Harness::Metric
    bench.title "64 #{kind} share 8 connections, each of which is held for 1 ms: 20,000 times in all (--quick: 4,000)"
    bench.sizes times: [20_000, 4_000], crowd: 64, connections: 8
    bench.metrics metric.cpu("checkout"), metric.wall("checkout"), metric.figure("p50_wait_ms", unit: "ms"),
                  metric.figure("p99_wait_ms", unit: "ms"), metric.figure("longest_wait_ms", unit: "ms"),
                  metric.figure("p99_to_p50", unit: "×"), metric.figure("p99_to_fair", unit: "×")
    bench.goal metric: "p99_to_fair", at_most: 2

    bench.plait do |trial|
      pool = Plait::Pool.new(size: trial[:connections], timeout: nil, close: ->(_) {}) { Object.new }
      Bench::Databases::Crowd.new(trial, kind).measure { |&held| pool.with(&held) }
    end

    bench.peer("connection_pool", gems: %w[connection_pool plait]) do |trial|
      require "connection_pool"
      pool = ConnectionPool.new(size: trial[:connections], timeout: 60) { Object.new }
      Bench::Databases::Crowd.new(trial, kind).measure { |&held| pool.with(&held) }
    end

    bench.floor("a Queue", gems: %w[plait]) do |trial|
      pool = Queue.new(Array.new(trial[:connections]) { Object.new })
      Bench::Databases::Crowd.new(trial, kind).measure do |&held|
        connection = pool.pop
        begin
          held.call(connection)
        ensure
          pool << connection
        end
      end
    end
  end
end
