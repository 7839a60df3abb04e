# frozen_string_literal: true

require_relative "support/contest"

Bench::Harness.define("chunked") do |bench|
  bench.title "2,000 GETs of 10,000 bytes in chunks of up to 4 KiB, 64 at once, every body kept (--quick: 300)"
  bench.size :requests, full: 2_000, quick: 300
  bench.size :counted, full: 300, quick: 100
  bench.size :in_flight, full: 64

  contest = Bench::HTTP::Contest
  bench.metrics contest::CPU, contest::WALL, contest::OBJECTS, contest::MALLOC

  entries = contest.new(bench, page: :chunked)
  entries.plait :fibers
  entries.peers "sockets, fibers", "curb, recycled", "async-http", "em-http-request", "httpx, batches",
                "Net::HTTP keep-alive, fibers"
  entries.floor
end
