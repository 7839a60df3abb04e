# frozen_string_literal: true

# bin/bench shard: the Redis sharding proxy against others, before the same four redis-servers, driven by redis-benchmark.

require_relative "../harness"
require_relative "support/nodes"

begin
  Bench::Shard::Nodes.around(4) { exit(Bench::Harness::Command.run(__dir__)) }
rescue Plait::UnsupportedError => e
  warn("bin/bench shard: #{e.message}")
  exit(69)
end
