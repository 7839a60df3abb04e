# frozen_string_literal: true

require_relative "support/contest"
require_relative "support/crowd"

[1, 2, 16, 64, 1_000].each do |clients|
  Bench::Harness.define("clients-#{clients}") do |bench|
    bench.title "40,000 calls of add(n, 1) by #{clients} clients, each one after another: the server (--quick: 8,000)"
    bench.sizes calls: [40_000, 8_000]
    contest = Bench::RPC::Contest
    bench.metrics Bench::Harness::Metric.figure("server_cpu_us_per_call", unit: "us"), contest::CALLS
    bench.goal metric: "server_cpu_us_per_call", against: contest::OLD, at_most: 0.6 if clients > 1
    contest.enter(bench, peers: ["msgpack over sockets", contest::OLD]) do |trial, _, server|
      Bench::RPC::Crowd.measure(trial, server, clients)
    end
  end
end
