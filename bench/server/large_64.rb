# frozen_string_literal: true

require_relative "support/contest"

Bench::Harness.define("large-64") do |bench|
  bench.title "A body of 1 MB, 64 connections kept alive"
  bench.size :connections, full: 64
  bench.size :seconds, full: 2, quick: 1
  contest = Bench::Server::Contest.new(bench, app: "large")
  bench.goal metric: "cpu_us_per_request", against: "iodine", at_most: 1.0
  contest.plait :fibers
  contest.also :threads
  contest.peers
end
