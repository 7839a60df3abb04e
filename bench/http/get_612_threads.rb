# frozen_string_literal: true

require_relative "support/contest"

Bench::Harness.define("get-612-threads") do |bench|
  bench.title "10,000 GETs of 612 bytes on 64 threads, every body kept (--quick: 500)"
  bench.size :requests, full: 10_000, quick: 500
  bench.size :counted, full: 1_000, quick: 200
  bench.size :in_flight, full: 64

  contest = Bench::HTTP::Contest
  bench.metrics contest::CPU, contest::WALL, contest::OBJECTS, contest::MALLOC, contest::PEAK
  bench.goal metric: "cpu_us_per_request", against: contest::FLOOR, at_most: 2.22

  entries = contest.new(bench, page: :small)
  entries.plait :threads
  entries.peers "sockets, threads", "Net::HTTP, threads", "Net::HTTP keep-alive, threads",
                "net-http-persistent, threads", "http.rb, threads", "httpx, threads"
  entries.floor
end
