# frozen_string_literal: true

require_relative "support/idle_contest"

Bench::Harness.define("idle-10000") do |bench|
  bench.title "Memory of 10,000 idle connections, each of which was answered once (--quick: 1,000)"
  bench.size :connections, full: 10_000, quick: 1_000
  bench.size :seconds, full: 10
  contest = Bench::Server::IdleContest.new(bench)
  bench.goal metric: "kb_per_connection", at_most: 0.5
  bench.goal metric: "growth_mb", at_most: 15
  contest.plait :fibers
  contest.also :threads
  contest.peers
end
