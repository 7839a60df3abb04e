# frozen_string_literal: true

require_relative "support/contest"

Bench::Harness.define("closing-64") do |bench|
  bench.title "Hello world, 64 at once, a connection for each request"
  bench.size :connections, full: 64
  bench.size :seconds, full: 2, quick: 1
  contest = Bench::Server::Contest.new(bench, close: true)
  bench.goal metric: "cpu_us_per_request", against: "iodine", at_most: 0.55
  contest.plait :fibers
  contest.also :threads
  contest.peers
  contest.floor
end
