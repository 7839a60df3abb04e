# frozen_string_literal: true

require "socket"
require_relative "../harness/meter"
require_relative "support/contest"

contest = Bench::RPC::Contest
metric = Bench::Harness::Metric

Bench::Harness.define("memory-64-mb") do |bench|
  bench.title "the peak of memory over the base when one answer of 64 MiB comes, and is kept"
  bench.sizes bytes: 64 << 20
  bench.metrics metric.figure("client_mb", unit: "MB"), metric.figure("server_mb", unit: "MB")
  bench.goal metric: "client_mb", at_most: 64 * 1.048576 * 1.1
  bench.goal metric: "server_mb", at_most: 64 * 1.048576 * 0.1
  contest.enter(bench, holds: [bench[:bytes]]) do |trial, type, server|
    processes = Bench::Harness::Processes
    client = type.new(server.port)
    client.get(1 << 20)
    GC.start
    base = processes.resident
    held = server.resident
    processes.forget_peak
    server.forget_peak
    answer = client.get(trial[:bytes])
    trial.report(operations: 1, result: answer.bytesize, figures: { "client_mb" => (processes.peak - base) / 1e6,
                                                                    "server_mb" => (server.peak - held) / 1e6 })
  end
end

Bench::Harness.define("idle-10k") do |bench|
  bench.title "the memory of a server for 10,000 connected clients that say nothing (--quick: 1,000)"
  bench.sizes clients: [10_000, 1_000]
  bench.metrics metric.figure("server_mb", unit: "MB")
  bench.goal metric: "server_mb", at_most: 15
  contest.enter(bench, peers: [contest::RAW, contest::OLD]) do |trial, type, server|
    client = type.new(server.port)
    client.add(1, 1)
    base = server.resident
    sockets = Array.new(trial[:clients]) { TCPSocket.new("127.0.0.1", server.port) }
    type.new(server.port).add(1, 1) # who came last was let in: all were
    trial.report(operations: sockets.size, result: sockets.size, figures: { "server_mb" => (server.resident - base) / 1e6 })
  end
end
