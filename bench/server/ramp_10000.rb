# frozen_string_literal: true

require_relative "support/crowd_contest"

Bench::Harness.define("ramp-10000") do |bench|
  bench.title "10,000 connections opened within 3 seconds, each asking again and again (--quick: 1,000 within one)"
  bench.size :connections, full: 10_000, quick: 1_000
  bench.size :requests, full: 10
  bench.size :seconds, full: 14
  bench.size :ramp, full: 3, quick: 1
  contest = Bench::Server::CrowdContest.new(bench, ramp: bench[:ramp])
  contest.plait :fibers
  contest.also :threads
  contest.peers
end
