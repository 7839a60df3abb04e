# frozen_string_literal: true

require_relative "support/contest"

# Long bodies, where copies cost. Few enough that all fit into memory.
[{ name: "body-64k", words: "64 KiB", page: :kib64, in_flight: 16, full: 2_000, quick: 100, counted: 100, goal: 1.2 },
 { name: "body-5m", words: "5 MiB", page: :mib5, in_flight: 4, full: 40, quick: 6, counted: 4, goal: 1.1 }].each do |body|
  Bench::Harness.define(body[:name]) do |bench|
    bench.title "#{body[:full]} GETs of #{body[:words]}, #{body[:in_flight]} at once, every body kept " \
                "(--quick: #{body[:quick]})"
    bench.sizes requests: [body[:full], body[:quick]], counted: body[:counted], in_flight: body[:in_flight]

    contest = Bench::HTTP::Contest
    bench.metrics contest::CPU, contest::WALL, contest::MALLOC, contest::PEAK
    bench.goal metric: "cpu_us_per_request", against: contest::FLOOR, at_most: body[:goal]

    entries = contest.new(bench, page: body[:page])
    entries.all :fibers, "sockets, fibers", "curb, recycled", "async-http", "em-http-request", "httpx, batches", "typhoeus",
                "Net::HTTP keep-alive, fibers"
  end
end
