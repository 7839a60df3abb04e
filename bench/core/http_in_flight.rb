# frozen_string_literal: true

require_relative "../harness/definition"
require_relative "support/in_flight"

Bench::Harness.define("http-in-flight") do |bench|
  metric = Bench::Harness::Metric
  bench.title "5,000 GETs by Net::HTTP, answered after 50 ms, 1,000 at once asked for (--quick: 1,000)"
  bench.sizes requests: [5_000, 1_000], limit: [1_000, 500]
  bench.rounds 3
  bench.metrics metric.figure("open_peak", unit: "connections", lower_is_better: false),
                metric.figure("unanswered_peak", unit: "requests", lower_is_better: false),
                metric.seconds, metric.cpu("request"), metric.memory("request")
  bench.goal metric: "open_peak", at_least: bench[:limit]

  bench.plait do |trial|
    Bench::Core::InFlight.new(trial).report do |uris, limit|
      Plait.map(uris, on: :fibers, limit: limit) { |uri| Net::HTTP.get(uri).bytesize }.sum
    end
  end

  bench.peer("async", gems: %w[async]) do |trial|
    require_relative "support/async_peer"
    require "async/barrier"
    require "async/semaphore"
    Bench::Core::InFlight.new(trial).report do |uris, limit|
      Async do
        semaphore = Async::Semaphore.new(limit, parent: Async::Barrier.new)
        uris.map { |uri| semaphore.async { Net::HTTP.get(uri).bytesize } }.sum(&:wait)
      end.wait
    end
  end

  bench.peer("threads") do |trial|
    require_relative "support/by_hand"
    Bench::Core::InFlight.new(trial).report do |uris, limit|
      Bench::Core::ByHand.threads(uris, limit) { |uri| Net::HTTP.get(uri).bytesize }.sum
    end
  end
end
