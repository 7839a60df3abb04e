# frozen_string_literal: true

require_relative "support/contest"

contest = Bench::HTTP::Contest

Bench::Harness.define("get-612-fibers") do |bench|
  bench.title "10,000 GETs of 612 bytes, 64 at once on fibers or callbacks, every body kept (--quick: 500)"
  bench.sizes requests: [10_000, 500], counted: [1_000, 200], in_flight: 64

  bench.metrics(*contest::COUNTED, contest::PEAK)
  bench.goal metric: "cpu_us_per_request", against: contest::FLOOR, at_most: 1.43
  bench.goal metric: "cpu_us_per_request", against: "curb, recycled", at_most: 0.3
  bench.goal metric: "cpu_us_per_request", against: "Net::HTTP keep-alive", at_most: 0.08
  bench.goal metric: "cpu_us_per_request", against: "async-http", at_most: 0.1
  bench.goal metric: "objects_per_request", at_most: 2.5
  bench.goal metric: "malloc_kb_per_request", at_most: 1
  # The bodies alone are 6.1 MB.
  bench.goal metric: "peak_mb", at_most: 9

  entries = contest.new(bench, page: :small)
  # One after another, and so on one connection: the unit of a goal.
  entries.peers "Net::HTTP keep-alive"
  entries.all :fibers, "sockets, fibers", "curb, recycled", "curb, Multi.get", "async-http", "em-http-request", "httpx, batches",
              "typhoeus", "http.rb, fibers", "Net::HTTP keep-alive, fibers", "Net::HTTP, fibers"
end

Bench::Harness.define("get-612-threads") do |bench|
  bench.title "10,000 GETs of 612 bytes on 64 threads, every body kept (--quick: 500)"
  bench.sizes requests: [10_000, 500], counted: [1_000, 200], in_flight: 64

  bench.metrics(*contest::COUNTED, contest::PEAK)
  bench.goal metric: "cpu_us_per_request", against: contest::FLOOR, at_most: 2.22

  entries = contest.new(bench, page: :small)
  entries.all :threads, "sockets, threads", "Net::HTTP, threads", "Net::HTTP keep-alive, threads",
              "net-http-persistent, threads", "http.rb, threads", "httpx, threads"
end

Bench::Harness.define("get-612-sequence") do |bench|
  bench.title "2,000 GETs of 612 bytes, one after another, on a keep-alive connection where the client can (--quick: 200)"
  bench.sizes requests: [2_000, 200], counted: [500, 100], in_flight: 1

  bench.metrics(*contest::COUNTED)

  entries = contest.new(bench, page: :small)
  entries.all :sequence, "sockets", "curb, one handle", "Net::HTTP", "Net::HTTP keep-alive", "net-http-persistent", "http.rb",
              "httpx", "typhoeus"
end

Bench::Harness.define("chunked") do |bench|
  bench.title "2,000 GETs of 10,000 bytes in chunks of up to 4 KiB, 64 at once, every body kept (--quick: 300)"
  bench.sizes requests: [2_000, 300], counted: [300, 100], in_flight: 64

  bench.metrics(*contest::COUNTED)

  entries = contest.new(bench, page: :chunked)
  entries.all :fibers, "sockets, fibers", "curb, recycled", "async-http", "em-http-request", "httpx, batches",
              "Net::HTTP keep-alive, fibers"
end
