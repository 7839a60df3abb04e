# frozen_string_literal: true

require_relative "support/contest"

Bench::Harness.define("get-612-sequence") do |bench|
  bench.title "2,000 GETs of 612 bytes, one after another, on a keep-alive connection where the client can (--quick: 200)"
  bench.size :requests, full: 2_000, quick: 200
  bench.size :counted, full: 500, quick: 100
  bench.size :in_flight, full: 1

  contest = Bench::HTTP::Contest
  bench.metrics contest::CPU, contest::WALL, contest::OBJECTS, contest::MALLOC

  entries = contest.new(bench, page: :small)
  entries.plait :sequence
  entries.peers "sockets", "curb, one handle", "Net::HTTP", "Net::HTTP keep-alive", "net-http-persistent", "http.rb",
                "httpx", "typhoeus"
  entries.floor
end
