# frozen_string_literal: true

require_relative "support/contest"

# Without a floor: the client in C speaks no TLS. Few connections: what is compared is what a request costs, not a
# handshake.
Bench::Harness.define("tls") do |bench|
  bench.title "5,000 GETs of 612 bytes by TLS, 16 at once, keep-alive, the server's certificate verified (--quick: 500)"
  bench.size :requests, full: 5_000, quick: 500
  bench.size :counted, full: 500, quick: 100
  bench.size :in_flight, full: 16

  contest = Bench::HTTP::Contest
  bench.metrics contest::CPU, contest::WALL, contest::OBJECTS, contest::MALLOC
  bench.goal metric: "cpu_us_per_request", against: "curb, recycled", at_most: 0.5

  entries = contest.new(bench, page: :small, tls: true)
  entries.plait :fibers
  entries.peers "sockets, fibers", "curb, recycled", "async-http", "httpx, batches", "typhoeus", "http.rb, fibers",
                "Net::HTTP keep-alive, fibers"
end
