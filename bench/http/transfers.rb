# frozen_string_literal: true

require_relative "support/contest"

# Large bodies as users write them, one after another on a kept connection.
{
  upload: { name: "post-multipart", title: "100 times `post(url, multipart: …)` with a file of 1 MiB", page: :small,
            full: 100, quick: 10 },
  download: { name: "get-to-file", title: "40 times 5 MiB, written to a file: ours by `save`, the others piece by piece",
              page: :mib5, full: 40, quick: 6 }
}.each do |way, transfer|
  Bench::Harness.define(transfer[:name]) do |bench|
    bench.title "#{transfer[:title]} (--quick: #{transfer[:quick]})"
    bench.sizes requests: [transfer[:full], transfer[:quick]], counted: 4, in_flight: 1

    contest = Bench::HTTP::Contest
    bench.metrics(*contest::COUNTED, contest::PEAK)
    peers = %w[Net::HTTP http.rb httpx curb]
    (peers - ["curb"]).each { |name| bench.goal metric: "cpu_us_per_request", against: name, at_most: 0.5 } # curb is C

    transfers = contest.new(bench, page: transfer[:page])
    transfers.transfers("plait", :plait, way)
    peers.each { |name| transfers.transfers(name, :peer, way) }
  end
end
