# frozen_string_literal: true

require_relative "support/contest"

Bench::Harness.define("postgres-1000") do |bench|
  bench.title "three queries a request on PostgreSQL, 1,000 connections kept alive, pools of 32"
  bench.size :connections, full: 1000
  bench.size :pool, full: 32
  bench.size :pause, full: 0
  bench.size :seconds, full: 5, quick: 3
  contest = Bench::Databases::Contest.new(bench)
  bench.goal metric: "cpu_us_per_request", against: "puma + pg", at_most: 0.45
  contest.plait :fibers, "postgres"
  contest.also :threads, "postgres"
  contest.peer "puma", "postgres"
  contest.peer "falcon", "postgres"
end
