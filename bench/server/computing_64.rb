# frozen_string_literal: true

require_relative "support/contest"

Bench::Harness.define("computing-64") do |bench|
  bench.title "1 ms of computing in the app, 64 connections kept alive"
  bench.size :connections, full: 64
  bench.size :seconds, full: 2, quick: 1
  contest = Bench::Server::Contest.new(bench, app: "computing")
  bench.goal metric: "cpu_us_per_request", against: "puma", at_most: 1.0
  contest.plait :hybrid
  contest.also :threads
  contest.also :fibers
  contest.peers
end
