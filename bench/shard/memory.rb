# frozen_string_literal: true

require_relative "../harness/definition"

# Over what the proxy had before; the goals are bounds on Plait's own figures, from the issue.
PEAK = Bench::Harness::Metric.figure("peak_mb", unit: "MB")
LEFT = Bench::Harness::Metric.figure("left_mb", unit: "MB")
IDLE = [Bench::Harness::Metric.figure("kib_per_client", unit: "KiB"), Bench::Harness::Metric.figure("idle_mb", unit: "MB")].freeze

{
  "mset-92m" => [:mset, "MSET of 10,000 keys of 1 KiB with 8 KiB each", 6],
  "mset-92m-asleep" => [:mset_asleep, "the same, a node asleep for two seconds", 6],
  "set-32m" => [:set, "one SET of 32 MiB", 8],
  "mget-82m" => [:mget, "MGET of 10,000 values of 8 KiB", 8],
  "mget-82m-stalled" => [:mget_stalled, "the same, read two seconds late", 8],
  "keys-1m" => [:keys, "KEYS over a million keys", 4]
}.each do |name, (job, title, most)|
  Bench::Harness.define(name) do |bench|
    bench.title title
    bench.rounds 3
    bench.metrics(PEAK, LEFT, Bench::Harness::Metric.cpu("command"))
    bench.goal metric: "peak_mb", at_most: most
    bench.goal metric: "left_mb", at_most: 5
    bench.goal metric: "cpu_us_per_command", at_most: 100_000 if job == :keys
    take_part = lambda do |trial, contestant|
      require_relative "support/bulk"
      require_relative "support/contestants"
      Bench::Shard::Bulk.new(Bench::Shard::Contestants.const_get(contestant), job).report(trial)
    end
    bench.plait { |trial| take_part.call(trial, :Plait) }
    # twemproxy closes the connection at KEYS.
    bench.peer("nutcracker") { |trial| take_part.call(trial, :Nutcracker) } unless job == :keys
  end
end

Bench::Harness.define("idle-10k") do |bench|
  bench.title "10,000 clients that ask for nothing"
  bench.rounds 3
  bench.sizes clients: [10_000, 1_000]
  bench.metrics(*IDLE)
  bench.goal metric: "kib_per_client", at_most: 1
  bench.goal metric: "idle_mb", at_most: 4 * 1.048576
  take_part = lambda do |trial, contestant|
    require_relative "support/contestants"
    require_relative "support/idle"
    Bench::Shard::Idle.new(Bench::Shard::Contestants.const_get(contestant)).report(trial)
  end
  bench.plait { |trial| take_part.call(trial, :Plait) }
  bench.peer("nutcracker") { |trial| take_part.call(trial, :Nutcracker) }
end
