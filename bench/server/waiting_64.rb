# frozen_string_literal: true

require_relative "support/contest"

Bench::Harness.define("waiting-64") do |bench|
  bench.title "3 ms of waiting in the app, 64 connections kept alive"
  bench.size :connections, full: 64
  bench.size :seconds, full: 2, quick: 1
  contest = Bench::Server::Contest.new(bench, app: "waiting")
  bench.goal metric: "cpu_us_per_request", against: "puma, 64 threads", at_most: 0.15
  bench.goal metric: "requests_per_s", against: "puma, 64 threads", at_least: 3
  contest.plait :fibers
  contest.also :threads
  contest.also :hybrid
  contest.peer "puma", 64, row: "puma, 64 threads"
end
