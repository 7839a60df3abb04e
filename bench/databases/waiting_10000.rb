# frozen_string_literal: true

require_relative "support/contest"

Bench::Harness.define("waiting-10000") do |bench|
  bench.title "the classic experiment: three queries a request on MariaDB that wait 10 ms each, 10,000 connections, pools of 128"
  bench.size :connections, full: 10_000
  bench.size :pool, full: 128
  bench.size :pause, full: 0.01
  bench.size :requests, full: 10_000
  contest = Bench::Databases::Contest.new(bench, classic: true)
  bench.goal metric: "errors", at_most: 0
  bench.goal metric: "requests_per_s", against: "a thread per connection + trilogy", at_least: 1.5
  bench.goal metric: "peak_mb", against: "a thread per connection + trilogy", at_most: 0.5
  contest.plait :fibers, "trilogy"
  contest.at_once :fibers, "trilogy"
  contest.also :threads, "trilogy"
  contest.thread_per_connection "trilogy"
  contest.event_machine "mysql2"
end
