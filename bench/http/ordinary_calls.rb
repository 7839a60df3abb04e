# frozen_string_literal: true

require_relative "support/contest"

contest = Bench::HTTP::Contest

# What users write, each way as a case: beside our plain call, and beside a kept Net::HTTP that does the same.
{
  headers: ["`get(url, headers: …)`", "/small?n=%08d"],
  timeout: ["`get(url, timeout: 5)`", "/small?n=%08d"],
  base: ["`get(\"/path\")` of a client with `base:`", "/small?n=%08d"],
  cookies: ["`get(url)` of a client with a cookie for it", "/small?n=%08d"],
  missing: ["`get(url)` that is answered with 404", "/missing?n=%08d"],
  post_json: ["`post(url, json: …)`", "/small?n=%08d"],
  gzip: ["`get(url)` of 612 bytes that come gzip'd", "/coded?n=%08d"],
  redirect: ["`get(url)` that is redirected within its origin", "/moved?n=%08d"]
}.each do |way, (title, path)|
  Bench::Harness.define("call-#{way.name.tr("_", "-")}") do |bench|
    bench.title "2,000 times #{title}, one after another on a kept connection (--quick: 200)"
    bench.sizes requests: [2_000, 200], counted: [500, 100], in_flight: 1

    bench.metrics(*contest::COUNTED)
    bench.goal metric: "cpu_us_per_request", against: "plait, plain", at_most: way == :redirect ? 3.2 : 1.6 unless way == :gzip
    bench.goal metric: "cpu_us_per_request", against: "Net::HTTP keep-alive", at_most: way == :gzip ? 0.5 : 0.4

    ordinary = contest.new(bench, page: :small)
    ordinary.calls("plait", :plait, way, path)
    ordinary.calls("plait, plain", :peer, :plain, "/small?n=%08d", like: "Plait")
    ordinary.calls("Net::HTTP keep-alive", :peer, way, path, like: "NetHttp")
  end
end

Bench::Harness.define("fan-out-gzip") do |bench|
  bench.title "2,000 URLs by `fan_out` of 612 bytes that come gzip'd, 64 at once (--quick: 200)"
  bench.sizes requests: [2_000, 200], counted: [500, 100], in_flight: 64

  bench.metrics(*contest::COUNTED)
  bench.goal metric: "cpu_us_per_request", against: "Net::HTTP keep-alive", at_most: 0.5

  entries = contest.new(bench, page: :coded)
  entries.plait :fibers
  entries.peers "Net::HTTP keep-alive", "Net::HTTP keep-alive, fibers"
end
