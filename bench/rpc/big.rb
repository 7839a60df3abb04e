# frozen_string_literal: true

require_relative "support/big_data"
require_relative "support/contest"

contest = Bench::RPC::Contest

# Answers of so many megabytes, one after another.
{ 1 => 200, 16 => 20, 64 => 8 }.each do |megabytes, calls|
  Bench::Harness.define("sync-#{megabytes}-mb") do |bench|
    bench.title "#{calls} answers of #{megabytes} MiB, one after another (--quick: #{[calls / 4, 2].max})"
    bench.sizes calls: [calls, [calls / 4, 2].max], bytes: megabytes << 20
    bench.metrics(*contest::OF_DATA)
    bench.goal metric: "mb_per_s", against: contest::RAW, at_least: megabytes == 1 ? 0.8 : 0.85
    contest.enter(bench) do |trial, type, server|
      client = type.new(server.port)
      Bench::RPC::BigData.measure(trial, server) { |count| Array.new(count) { client.get(trial[:bytes]).bytesize }.sum }
    end
    contest.floor(bench, "get", bytes: :bytes)
  end
end

Bench::Harness.define("upload-64-mb") do |bench|
  bench.title "8 arguments of 64 MiB, one after another (--quick: 2)"
  bench.sizes calls: [8, 2], bytes: 64 << 20
  bench.metrics(*contest::OF_DATA)
  bench.goal metric: "mb_per_s", against: contest::RAW, at_least: 0.9
  contest.enter(bench) do |trial, type, server|
    client = type.new(server.port)
    bytes = Bench::RPC::Service.new.get(trial[:bytes])
    Bench::RPC::BigData.measure(trial, server) { |count| Array.new(count) { client.put(bytes) }.sum }
  end
  contest.floor(bench, "put", bytes: :bytes)
end

Bench::Harness.define("map-64-x-1-mb") do |bench|
  bench.title "64 answers of 1 MiB asked for at once, four times (--quick: once)"
  bench.sizes calls: [256, 64], bytes: 1 << 20
  bench.metrics(*contest::OF_DATA)
  bench.goal metric: "mb_per_s", against: contest::RAW, at_least: 0.85
  contest.enter(bench) do |trial, type, server|
    client = type.new(server.port)
    Bench::RPC::BigData.measure(trial, server, warm_up: 64) do |count|
      Array.new(count / 64) { client.gets(64, trial[:bytes]).sum(&:bytesize) }.sum
    end
  end
  contest.floor(bench, "get", bytes: :bytes, window: 64)
end

Bench::Harness.define("shared-16-x-1-mb") do |bench|
  bench.title "256 answers of 1 MiB for 16 threads or fibers (--quick: 64), by one client where they may share one"
  bench.sizes calls: [256, 64], bytes: 1 << 20
  bench.metrics(*contest::OF_DATA)
  bench.goal metric: "mb_per_s", against: contest::RAW, at_least: 0.85
  contest.enter(bench) do |trial, type, server|
    clients = type.crowd(server.port, 16)
    Bench::RPC::BigData.measure(trial, server, warm_up: 16) do |count|
      type.at_once(clients) { |client| Array.new(count / 16) { client.get(trial[:bytes]).bytesize }.sum }.sum
    end
  end
  contest.floor(bench, "get", bytes: :bytes, connections: 16)
end
