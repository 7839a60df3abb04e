# frozen_string_literal: true

require_relative "../harness/definition"
require_relative "support/sidekiq_site"

# What many machines cost for items that cost nothing: one process of Sidekiq with five threads, one Redis, and the caller.
Bench::Harness.define("map-sidekiq") do |bench|
  metric = Bench::Harness::Metric
  bench.title "5,000 items that cost nothing, on: :sidekiq, beside perform_bulk with each result written (--quick: 1,000)"
  bench.sizes items: [5_000, 1_000]
  bench.rounds 5
  bench.metrics metric.figure("caller_us_per_item", unit: "us"), metric.figure("worker_us_per_item", unit: "us"),
                metric.figure("commands_per_item", unit: "commands"),
                metric.figure("items_per_second", unit: "1/s", lower_is_better: false)
  bench.goal metric: "caller_us_per_item", against: "perform_bulk", at_most: 1.3
  bench.goal metric: "worker_us_per_item", against: "perform_bulk", at_most: 1.3
  bench.goal metric: "commands_per_item", at_most: 3.2
  bench.goal metric: "items_per_second", at_least: 5_000

  bench.plait(gems: %w[sidekiq]) do |trial|
    Bench::Core::SidekiqSite.open(%w[plait]) do |site|
      site.measure(trial, trial[:items]) do |count|
        Plait.map(1..count, on: :sidekiq, limit: 500, &Plait.job(Bench::Core::Double)).sum
      end
    end
  end

  bench.peer("perform_bulk", gems: %w[sidekiq]) do |trial|
    Bench::Core::SidekiqSite.open([]) do |site|
      site.measure(trial, trial[:items]) do |count|
        list = "results:#{count}"
        Bench::Core::BareDouble.perform_bulk((1..count).map { |number| [list, number, number] })
        values = {}
        Sidekiq.redis do |redis|
          while values.size < count
            _, page = redis.blocking_call(10, "BLMPOP", 5, 1, list, "LEFT", "COUNT", 100)
            values.update(page.to_h { |text| JSON.parse(text) })
          end
        end
        values.each_value.sum
      end
    end
  end
end
