# frozen_string_literal: true

require_relative "support/contest"

# Each on one connection with 16 streams.
Bench::Harness.define("http2") do |bench|
  bench.title "5,000 GETs of 612 bytes by HTTP/2, 16 at once on one connection (--quick: 500)"
  bench.size :requests, full: 5_000, quick: 500
  bench.size :counted, full: 500, quick: 100
  bench.size :in_flight, full: 16

  contest = Bench::HTTP::Contest
  bench.metrics contest::CPU, contest::WALL, contest::OBJECTS, contest::MALLOC
  bench.goal metric: "cpu_us_per_request", against: "httpx, batches", at_most: 0.5

  entries = contest.new(bench, page: :small, tls: :http2)
  entries.plait :fibers
  entries.peers "httpx, batches", "async-http"
end
