# frozen_string_literal: true

require_relative "support/crowd_contest"

Bench::Harness.define("burst-10000") do |bench|
  bench.title "10,000 connections opened at once, each asking again and again (--quick: 1,000)"
  bench.size :connections, full: 10_000, quick: 1_000
  bench.size :requests, full: 10
  bench.size :seconds, full: 12
  contest = Bench::Server::CrowdContest.new(bench)
  contest.plait :fibers
  contest.also :threads
  contest.also :hybrid
  contest.peers
end
