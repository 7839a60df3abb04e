# frozen_string_literal: true

require_relative "support/contest"

Bench::Harness.define("hello-10000") do |bench|
  bench.title "Hello world, 10,000 connections kept alive"
  bench.size :connections, full: 10_000
  bench.size :seconds, full: 4, quick: 2
  contest = Bench::Server::Contest.new(bench)
  bench.goal metric: "cpu_us_per_request", against: "iodine", at_most: 0.65
  bench.goal metric: "p99_ms", against: "iodine", at_most: 0.7
  contest.plait :fibers
  contest.also :threads
  contest.peers
  contest.floor
end
