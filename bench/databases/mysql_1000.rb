# frozen_string_literal: true

require_relative "support/contest"

Bench::Harness.define("mysql-1000") do |bench|
  bench.title "three queries a request on MariaDB, 1,000 connections kept alive, pools of 32"
  bench.size :connections, full: 1000
  bench.size :pool, full: 32
  bench.size :pause, full: 0
  bench.size :seconds, full: 5, quick: 3
  contest = Bench::Databases::Contest.new(bench)
  bench.goal metric: "cpu_us_per_request", against: "puma + trilogy", at_most: 0.6
  contest.plait :fibers, "trilogy"
  contest.also :fibers, "mysql2"
  contest.also :threads, "trilogy"
  contest.also :hybrid, "trilogy"
  contest.peer "puma", "trilogy"
  contest.peer "puma", "mysql2"
  contest.peer "falcon", "trilogy"
end
