# frozen_string_literal: true

require_relative "support/contest"

# Where an answer takes long, connections are what HTTP/2 saves: the origin is behind nginx, which speaks both.
Bench::Harness.define("http2-20ms") do |bench|
  bench.title "2,000 GETs of 612 bytes, answered after 20 ms, 64 at once: HTTP/2 beside HTTP/1.1, both by TLS (--quick: 200)"
  bench.size :requests, full: 2_000, quick: 200
  bench.size :in_flight, full: 64

  contest = Bench::HTTP::Contest
  bench.metrics contest::WALL, contest::CPU
  bench.goal metric: "wall_s", against: "plait, HTTP/1.1", at_most: 1.0

  entries = contest.new(bench, page: :far, tls: :http2, counted: false)
  entries.plait :fibers
  entries.http1 "plait, HTTP/1.1"
  entries.peers "httpx, batches", "async-http"
end
