# frozen_string_literal: true

require_relative "support/contest"

contest = Bench::HTTP::Contest

Bench::Harness.define("in-flight-1k") do |bench|
  bench.title "5,000 GETs of 612 bytes, answered after 50 ms, 1,000 in flight (--quick: 1,000 and 500)"
  bench.sizes requests: [5_000, 1_000], in_flight: [1_000, 500]

  bench.metrics contest::WALL, contest::UNANSWERED, contest::OPEN, contest::CPU, contest::MEMORY
  bench.goal metric: "wall_s", against: contest::FLOOR, at_most: 1.1
  bench.goal metric: "unanswered_peak", at_least: bench[:in_flight]

  entries = contest.new(bench, page: :small, latency: 50, counted: false)
  entries.all :fibers, "sockets, fibers", "sockets, threads", "curb, recycled", "async-http", "em-http-request", "typhoeus",
              "Net::HTTP keep-alive, fibers"
end

# Answered after so long that all can be under way before the first answer comes: to open 10,000 connections takes even C
# longer than 50 ms.
Bench::Harness.define("in-flight-10k") do |bench|
  bench.title "10,000 GETs of 612 bytes, answered after 2 s, all in flight (--quick: 2,000, 0.5 s)"
  bench.sizes requests: [10_000, 2_000], in_flight: [10_000, 2_000], milliseconds: [2_000, 500]
  bench.rounds 2

  bench.metrics contest::MEMORY, contest::UNANSWERED, contest::OPEN, contest::WALL, contest::CPU
  bench.goal metric: "unanswered_peak", at_least: bench[:in_flight]
  # 4 KiB and a fiber, which bench/core measures at 13.2 kB.
  bench.goal metric: "kb_per_request", at_most: 17.3

  entries = contest.new(bench, page: :small, latency: bench[:milliseconds], counted: false)
  entries.all :fibers, "sockets, fibers", "curb, recycled", "async-http", "em-http-request"
end

# The handshakes of 2,000 take seconds. What is left of a request is mostly OpenSSL's state.
Bench::Harness.define("in-flight-tls") do |bench|
  bench.title "2,000 GETs of 612 bytes by TLS, answered after 10 s, all in flight (--quick: 500)"
  bench.sizes requests: [2_000, 500], in_flight: [2_000, 500]
  bench.rounds 2

  bench.metrics contest::MEMORY, contest::WALL, contest::CPU

  entries = contest.new(bench, page: :late, tls: true, counted: false)
  entries.plait :fibers
  entries.peers "sockets, fibers", "curb, recycled", "async-http"
end
