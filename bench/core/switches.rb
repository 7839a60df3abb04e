# frozen_string_literal: true

require_relative "../harness/definition"
require_relative "support/ping_pong"

[1, 100].each do |pairs|
  Bench::Harness.define(pairs == 1 ? "switches" : "switches-#{pairs}-pairs") do |bench|
    metric = Bench::Harness::Metric
    bench.title "60,000 switches over pipes, one byte to and fro, #{pairs} at a time (--quick: 12,000)"
    bench.sizes pairs: pairs, switches: [60_000, 12_000]
    bench.metrics metric.cpu("switch"), metric.wall("switch")
    bench.goal metric: "cpu_us_per_switch", against: "async", at_most: 0.6

    bench.plait do |trial|
      trial.measure(operations: trial[:switches]) do |count|
        bodies = Bench::Core::PingPong.bodies(trial[:pairs], count)
        Plait.run(on: :fibers) { |scope| bodies.map { |body| scope.async(&body) }.sum(&:value) }
      end
    end

    bench.peer("async", gems: %w[async]) do |trial|
      require_relative "support/async_peer"
      trial.measure(operations: trial[:switches]) do |count|
        bodies = Bench::Core::PingPong.bodies(trial[:pairs], count)
        Async { |parent| bodies.map { |body| parent.async(&body) }.sum(&:wait) }.wait
      end
    end

    bench.peer("threads") do |trial|
      trial.measure(operations: trial[:switches]) do |count|
        Bench::Core::PingPong.bodies(trial[:pairs], count).map { |body| Thread.new(&body) }.sum(&:value)
      end
    end

    bench.floor("C, epoll") do |trial|
      require_relative "support/floor"
      round_trips = Bench::Core::PingPong.round_trips(trial[:pairs], trial[:switches])
      Bench::Core::Floor.report(trial, trial[:switches], "ping-pong", trial[:pairs], round_trips)
    end
  end
end
