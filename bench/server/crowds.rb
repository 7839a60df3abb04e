# frozen_string_literal: true

require_relative "support/crowd_contest"
require_relative "support/idle_contest"

Bench::Harness.define("burst-10000") do |bench|
  bench.title "10,000 connections opened at once, each asking again and again (--quick: 1,000)"
  bench.sizes connections: [10_000, 1_000], requests: 10, seconds: 12
  contest = Bench::Server::CrowdContest.new(bench)
  contest.all :fibers, :threads, :hybrid
end

Bench::Harness.define("ramp-10000") do |bench|
  bench.title "10,000 connections opened within 3 seconds, each asking again and again (--quick: 1,000 within one)"
  bench.sizes connections: [10_000, 1_000], requests: 10, seconds: 14, ramp: [3, 1]
  contest = Bench::Server::CrowdContest.new(bench, ramp: bench[:ramp])
  contest.all :fibers, :threads
end

Bench::Harness.define("idle-10000") do |bench|
  bench.title "Memory of 10,000 idle connections, each of which was answered once (--quick: 1,000)"
  bench.sizes connections: [10_000, 1_000], seconds: 10
  contest = Bench::Server::IdleContest.new(bench)
  bench.goal metric: "kb_per_connection", at_most: 0.5
  bench.goal metric: "growth_mb", at_most: 15
  contest.all :fibers, :threads
end

Bench::Harness.define("idle-tls-1000") do |bench|
  bench.title "Memory of 1,000 idle connections by TLS, each of which was answered once (--quick: 200)"
  bench.sizes connections: [1_000, 200], seconds: 10
  contest = Bench::Server::IdleTLSContest.new(bench, tls: true)
  bench.goal metric: "kb_per_connection", at_most: 12
  bench.goal metric: "descriptors_per_connection", at_most: 1
  contest.plait :fibers
  contest.also :threads
  contest.peer "puma", 5
end
