# frozen_string_literal: true

require_relative "support/contest"

# Who is asked for more than it can do is late for ever: rates that all are well able to take, with two processors.
{ "paced-10k" => 10_000, "paced-25k" => 25_000 }.each do |name, rate|
  Bench::Harness.define(name) do |bench|
    bench.title "GET of 64 bytes, 50 clients, #{rate} a second"
    bench.sizes requests: [rate * 4, rate]
    bench.metrics(*Bench::Shard::Contest::PACED)
    bench.goal metric: "p99_ms", against: "nutcracker", at_most: 0.7
    Bench::Shard::Contest.new(bench, value: 64, rate: rate).all
  end
end

# A goal of machines with four processors and more: two for the proxy, the others for servers and load.
Bench::Harness.define("threads-2") do |bench|
  bench.title "SET of 64 bytes, 50 clients, pipeline 16, by two threads and by one"
  bench.sizes requests: [800_000, 80_000]
  bench.metrics(Bench::Shard::Contest::WALL, Bench::Shard::Contest::CPU)
  bench.goal metric: "wall_us_per_request", against: "one thread", at_most: (1 / 1.8).round(3)
  Bench::Shard::Contest.new(bench, ["SET", "key:__rand_int__", "x" * 64], pipeline: 16).threads
end
