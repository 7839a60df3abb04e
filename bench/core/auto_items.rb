# frozen_string_literal: true

require_relative "../harness/definition"
require_relative "../harness/processors"
require_relative "support/bodies"

# What it costs that the choice is made while the items run: nothing but one after another is fast for these.
Bench::Harness.define("map-auto-1ms") do |bench|
  metric = Bench::Harness::Metric
  bench.title "items of 1 ms that compute, on: :auto, on one processor"
  bench.sizes items: [3_000, 600]
  bench.rounds 7
  bench.metrics metric.cpu("item"), metric.wall("item")
  bench.goal metric: "cpu_us_per_item", against: "sequence", at_most: 1.02

  run = lambda do |trial, on|
    Bench::Harness::Processors.pin
    body = Bench::Core::Bodies.fetch(:computing)
    trial.measure(operations: trial[:items]) { |count| Plait.map(1..count, on: on, &body).sum }
  end
  bench.plait { |trial| run.call(trial, :auto) }
  bench.peer("sequence", gems: %w[plait]) { |trial| run.call(trial, :sequence) }
end
