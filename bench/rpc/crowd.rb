# frozen_string_literal: true

require_relative "support/contest"
require_relative "support/crowd"
require_relative "../harness/meter"

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

Bench::Harness.define("tls-16") do |bench|
  bench.title "16,000 calls of add(n, 1) by 16 clients, each one after another, by TLS and by TCP: the server (--quick: 3,200)"
  bench.sizes calls: [16_000, 3_200]
  contest = Bench::RPC::Contest
  bench.metrics Bench::Harness::Metric.figure("server_cpu_us_per_call", unit: "us"), contest::CALLS
  bench.goal metric: "server_cpu_us_per_call", against: "plait, TCP", at_most: 1.6
  contest.enter(bench, ours: { "plait" => :PlaitTLS, "plait, TCP" => :Plait }, peers: []) do |trial, type, server|
    clients = Array.new(16) { type.new(server.port) }
    ask = ->(count) { type.at_once(clients) { |client| Array.new(count / 16) { |n| client.add(n, 1) }.sum }.sum }
    ask.call(trial[:calls] / 5)
    before = server.cpu
    began = Bench::Harness::Meter.wall
    sum = ask.call(trial[:calls])
    Bench::RPC::Crowd.report(trial, server.cpu - before, Bench::Harness::Meter.wall - began, sum)
  end
end
