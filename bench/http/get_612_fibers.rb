# frozen_string_literal: true

require_relative "support/contest"

Bench::Harness.define("get-612-fibers") do |bench|
  bench.title "10,000 GETs of 612 bytes, 64 at once on fibers or callbacks, every body kept (--quick: 500)"
  bench.size :requests, full: 10_000, quick: 500
  bench.size :counted, full: 1_000, quick: 200
  bench.size :in_flight, full: 64

  contest = Bench::HTTP::Contest
  bench.metrics contest::CPU, contest::WALL, contest::OBJECTS, contest::MALLOC, contest::PEAK
  bench.goal metric: "cpu_us_per_request", against: contest::FLOOR, at_most: 1.43
  bench.goal metric: "cpu_us_per_request", against: "curb, recycled", at_most: 0.3
  bench.goal metric: "cpu_us_per_request", against: "Net::HTTP keep-alive", at_most: 0.08
  bench.goal metric: "cpu_us_per_request", against: "async-http", at_most: 0.1
  bench.goal metric: "objects_per_request", at_most: 2.5
  bench.goal metric: "malloc_kb_per_request", at_most: 1
  # The bodies alone are 6.1 MB.
  bench.goal metric: "peak_mb", at_most: 9

  entries = contest.new(bench, page: :small)
  entries.plait :fibers
  # One after another, and so on one connection: the unit of a goal.
  entries.peers "Net::HTTP keep-alive"
  entries.peers "sockets, fibers", "curb, recycled", "curb, Multi.get", "async-http", "em-http-request", "httpx, batches",
                "typhoeus", "http.rb, fibers", "Net::HTTP keep-alive, fibers", "Net::HTTP, fibers"
  entries.floor
end
