# frozen_string_literal: true

require_relative "support/contest"
require_relative "support/small_calls"

contest = Bench::RPC::Contest
small = Bench::RPC::SmallCalls

Bench::Harness.define("tiny-sync") do |bench|
  bench.title "10,000 calls of add(n, 1), one after another (--quick: 2,000)"
  bench.sizes calls: [10_000, 2_000]
  bench.metrics contest::CALLS, contest::CPU, contest::LATE, contest::STALLS
  bench.goal metric: "calls_per_s", against: contest::RAW, at_least: 0.85
  bench.goal metric: "stalls_over_38_ms", at_most: 0
  contest.enter(bench) do |trial, type, server|
    client = type.new(server.port)
    small.measure(trial, server) { |count, times| Array.new(count) { |n| small.timed(times) { client.add(n, 1) } }.sum }
  end
  contest.floor(bench, "add")
end

Bench::Harness.define("tiny-64-in-flight") do |bench|
  bench.title "32,000 calls of add(n, 1), 64 asked at once (--quick: 6,400)"
  bench.sizes calls: [32_000, 6_400]
  bench.metrics contest::CALLS, contest::CPU
  bench.goal metric: "calls_per_s", against: contest::OLD, at_least: 2
  bench.goal metric: "calls_per_s", against: contest::GRPC, at_least: 50
  contest.enter(bench) do |trial, type, server|
    client = type.new(server.port)
    small.measure(trial, server, warm_up: 640) { |count, _| client.adds(count, 64).sum }
  end
  contest.floor(bench, "add", window: 64)
end

Bench::Harness.define("tiny-shared-16") do |bench|
  bench.title "16,000 calls of add(n, 1) by 16 threads or fibers (--quick: 3,200), of one client where they may share one"
  bench.sizes calls: [16_000, 3_200]
  bench.metrics contest::CALLS, contest::CPU, contest::LATE, contest::STALLS
  bench.goal metric: "calls_per_s", against: contest::OLD, at_least: 2
  bench.goal metric: "p99_us", against: contest::RAW, at_most: 1
  contest.enter(bench) do |trial, type, server|
    clients = type.crowd(server.port, 16)
    small.measure(trial, server, warm_up: 320) do |count, times|
      type.at_once(clients) { |client| Array.new(count / 16) { |n| small.timed(times) { client.add(n, 1) } }.sum }.sum
    end
  end
  contest.floor(bench, "add", connections: 16)
end
