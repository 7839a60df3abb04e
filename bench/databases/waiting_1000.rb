# frozen_string_literal: true

require_relative "support/contest"

Bench::Harness.define("waiting-1000") do |bench|
  bench.title "three queries a request on MariaDB that wait 10 ms each, 1,000 connections kept alive, pools of 128"
  bench.size :connections, full: 1000
  bench.size :pool, full: 128
  bench.size :pause, full: 0.01
  bench.size :seconds, full: 5, quick: 3
  contest = Bench::Databases::Contest.new(bench)
  bench.goal metric: "cpu_us_per_request", against: "falcon + mysql2", at_most: 0.75
  contest.plait :fibers, "mysql2"
  contest.also :fibers, "trilogy"
  contest.also :threads, "mysql2"
  contest.peer "puma", "mysql2"
  contest.peer "puma", "trilogy"
  contest.peer "falcon", "mysql2"
  contest.peer "falcon", "trilogy"
end
