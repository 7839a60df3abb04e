# frozen_string_literal: true

require_relative "support/contest"

Bench::Harness.define("mget-100") do |bench|
  bench.title "MGET of 100 keys with 64 bytes, 50 clients"
  bench.sizes requests: [20_000, 2_000]
  bench.metrics(*Bench::Shard::Contest::METRICS)
  bench.goal metric: "cpu_us_per_request", against: "nutcracker", at_most: 0.47
  Bench::Shard::Contest.new(bench, ["MGET", *(["key:__rand_int__"] * 100)], value: 64).all
end

Bench::Harness.define("mset-100") do |bench|
  bench.title "MSET of 100 keys of 1 KiB with values of 1 KiB, 50 clients"
  bench.sizes requests: [5_000, 500]
  bench.metrics(*Bench::Shard::Contest::METRICS)
  bench.goal metric: "cpu_us_per_request", against: "nutcracker", at_most: 0.25
  # twemproxy takes keys of 512 bytes at most where its buffers are not larger; mbuf-size is set accordingly.
  Bench::Shard::Contest.new(bench, ["MSET", *(["#{"k" * 1008}:__rand_int__", "x" * 1024] * 100)], keys: 1_000).all
end
