# frozen_string_literal: true

require_relative "../harness/definition"
require_relative "../harness/processors"
require_relative "support/bodies"

# Mechanism => body => how many at once: the bodies that make sense under it.
limits = {
  sequence: { waiting: 1, computing: 1 },
  threads: { waiting: 8, computing: 2 },
  fibers: { waiting: 8, computing: 2 },
  hybrid: { waiting: 8 },
  processes: { waiting: 2, computing: 2 },
  ractors: { computing: 2 }
}

# Both sides run the same body on the same items. What computes on one core is kept on one and judged by CPU time, which
# neighbours on the machine disturb least; what waits, or uses several cores, by the clock.
one_core = %i[sequence threads fibers]

limits.flat_map { |on, kinds| kinds.map { |kind, limit| [on, kind, limit] } }.each do |on, kind, limit|
  Bench::Harness.define("overhead-#{on}-#{kind}") do |bench|
    judged, other = [Bench::Harness::Metric.wall("item"), Bench::Harness::Metric.cpu("item")]
    on_one_core = kind == :computing && one_core.include?(on)
    judged, other = other, judged if on_one_core
    bench.title "bodies of 1 ms, #{kind}, #{limit} at once, against a hand-written loop of the same kind"
    bench.sizes items: [600 * limit, 60 * limit]
    bench.rounds 7
    bench.metrics judged, other
    bench.goal metric: judged.name, against: "by hand", at_most: 1.03

    run = lambda do |trial, map|
      Bench::Harness::Processors.pin if on_one_core
      body = Bench::Core::Bodies.fetch(kind)
      items = Array.new(trial[:items]) { |index| index }
      trial.measure(operations: trial[:items]) { |count| map.call(items.first(count), body).sum }
    end

    bench.plait { |trial| run.call(trial, ->(items, body) { Plait.map(items, on: on, limit: limit, &body) }) }

    bench.floor("by hand", gems: %w[plait]) do |trial|
      require_relative "support/by_hand"
      run.call(trial, ->(items, body) { Bench::Core::ByHand.public_send(on, items, limit, &body) })
    end
  end
end
