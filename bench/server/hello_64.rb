# frozen_string_literal: true

require_relative "support/contest"

Bench::Harness.define("hello-64") do |bench|
  bench.title "Hello world, 64 connections kept alive"
  bench.size :connections, full: 64
  bench.size :seconds, full: 2, quick: 1
  contest = Bench::Server::Contest.new(bench)
  bench.goal metric: "cpu_us_per_request", against: "iodine", at_most: 0.55
  bench.goal metric: "cpu_us_per_request", of: "plait, threads", against: "iodine", at_most: 0.65
  bench.goal metric: "cpu_us_per_request", against: "puma", at_most: 0.12
  contest.plait :fibers
  contest.also :threads
  contest.also :hybrid
  contest.peers
  contest.floor
end
