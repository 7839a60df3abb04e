# frozen_string_literal: true

require_relative "support/contest"

Bench::Harness.define("mysql-1000") do |bench|
  bench.title "three queries a request on MariaDB, 1,000 connections kept alive, pools of 32"
  bench.sizes connections: 1000, pool: 32, pause: 0, seconds: [5, 3]
  contest = Bench::Databases::Contest.new(bench)
  bench.goal metric: "cpu_us_per_request", against: "puma + trilogy", at_most: 0.6
  contest.plait :fibers, "trilogy"
  contest.also :fibers, "mysql2"
  contest.also :threads, "trilogy"
  contest.also :hybrid, "trilogy"
  contest.peer "puma", "trilogy", "mysql2"
  contest.peer "falcon", "trilogy"
end

Bench::Harness.define("postgres-1000") do |bench|
  bench.title "three queries a request on PostgreSQL, 1,000 connections kept alive, pools of 32"
  bench.sizes connections: 1000, pool: 32, pause: 0, seconds: [5, 3]
  contest = Bench::Databases::Contest.new(bench)
  bench.goal metric: "cpu_us_per_request", against: "puma + pg", at_most: 0.45
  contest.plait :fibers, "postgres"
  contest.also :threads, "postgres"
  contest.peer "puma", "postgres"
  contest.peer "falcon", "postgres"
end

Bench::Harness.define("waiting-1000") do |bench|
  bench.title "three queries a request on MariaDB that wait 10 ms each, 1,000 connections kept alive, pools of 128"
  bench.sizes connections: 1000, pool: 128, pause: 0.01, seconds: [5, 3]
  contest = Bench::Databases::Contest.new(bench)
  bench.goal metric: "cpu_us_per_request", against: "falcon + mysql2", at_most: 0.75
  contest.plait :fibers, "mysql2"
  contest.also :fibers, "trilogy"
  contest.also :threads, "mysql2"
  contest.peer "puma", "mysql2", "trilogy"
  contest.peer "falcon", "mysql2", "trilogy"
end

Bench::Harness.define("waiting-10000") do |bench|
  bench.title "the classic experiment: three queries a request on MariaDB that wait 10 ms each, 10,000 connections, pools of 128"
  bench.sizes connections: 10_000, pool: 128, pause: 0.01, requests: 10_000
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
