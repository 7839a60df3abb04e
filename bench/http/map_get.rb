# frozen_string_literal: true

require_relative "support/contest"

# The line of the README: `Plait.map(urls, on: …, limit: 64) { |url| Plait::HTTP.get(url).body }`.
{ fibers: 1.67, threads: 2.22 }.each do |mechanism, at_most|
  Bench::Harness.define("map-get-#{mechanism}") do |bench|
    bench.title "10,000 GETs of 612 bytes by `Plait.map`, 64 at once on #{mechanism}, every body kept (--quick: 500)"
    bench.sizes requests: [10_000, 500], counted: [1_000, 200], in_flight: 64

    contest = Bench::HTTP::Contest
    bench.metrics(*contest::COUNTED)
    bench.goal metric: "cpu_us_per_request", against: contest::FLOOR, at_most: at_most
    bench.goal metric: "objects_per_request", at_most: 5

    entries = contest.new(bench, page: :small)
    entries.map mechanism
    entries.peers "sockets, #{mechanism}", "Net::HTTP keep-alive, #{mechanism}"
    entries.floor
  end
end
