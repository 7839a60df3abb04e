# frozen_string_literal: true

require_relative "support/contest"

contest = Bench::HTTP::Contest

# Without a floor: the client in C speaks no TLS. Few connections: what is compared is what a request costs, not a
# handshake.
Bench::Harness.define("tls") do |bench|
  bench.title "5,000 GETs of 612 bytes by TLS, 16 at once, keep-alive, the server's certificate verified (--quick: 500)"
  bench.sizes requests: [5_000, 500], counted: [500, 100], in_flight: 16

  bench.metrics(*contest::COUNTED)
  bench.goal metric: "cpu_us_per_request", against: "curb, recycled", at_most: 0.5

  entries = contest.new(bench, page: :small, tls: true)
  entries.plait :fibers
  entries.peers "sockets, fibers", "curb, recycled", "async-http", "httpx, batches", "typhoeus", "http.rb, fibers",
                "Net::HTTP keep-alive, fibers"
end

Bench::Harness.define("http2") do |bench|
  bench.title "5,000 GETs of 612 bytes by HTTP/2, 16 at once on one connection (--quick: 500)"
  bench.sizes requests: [5_000, 500], counted: [500, 100], in_flight: 16

  bench.metrics(*contest::COUNTED)
  bench.goal metric: "cpu_us_per_request", against: "httpx, batches", at_most: 0.5

  entries = contest.new(bench, page: :small, tls: :http2)
  entries.plait :fibers
  entries.peers "httpx, batches", "async-http"
end

Bench::Harness.define("http2-20ms") do |bench|
  bench.title "2,000 GETs of 612 bytes, answered after 20 ms, 64 at once: HTTP/2 beside HTTP/1.1, both by TLS (--quick: 200)"
  bench.sizes requests: [2_000, 200], in_flight: 64

  bench.metrics contest::WALL, contest::CPU
  bench.goal metric: "wall_s", against: "plait, HTTP/1.1", at_most: 1.0

  entries = contest.new(bench, page: :far, tls: :http2, counted: false)
  entries.plait :fibers
  entries.http1 "plait, HTTP/1.1"
  entries.peers "httpx, batches", "async-http"
end
