# frozen_string_literal: true

require_relative "support/contest"

Bench::Harness.define("rails-64") do |bench|
  bench.title "Hello world of a Rails app, 64 connections kept alive"
  bench.size :connections, full: 64
  bench.size :seconds, full: 2, quick: 1
  contest = Bench::Server::Contest.new(bench, app: "rails", gems: %w[railties])
  bench.goal metric: "cpu_us_per_request", against: "puma", at_most: 0.8
  %w[threads fibers].each { |way| bench.goal metric: "cpu_us_per_request", of: "plait, #{way}", against: "puma", at_most: 0.8 }
  contest.plait :hybrid
  contest.also :threads
  contest.also :fibers
  contest.peer "puma", 5
  contest.peer "falcon", 1
end
