# frozen_string_literal: true

# bin/bench shard: the Redis sharding proxy against others, before the same four redis-servers, driven by redis-benchmark.

require_relative "../harness"
require_relative "../harness/native"
require_relative "support/nodes"

FILES = Dir[File.join(__dir__, "*.rb")] - [File.expand_path(__FILE__)]
Dir[File.join(__dir__, "*.c")].each { |source| Bench::Harness::Native.build(source) }

begin
  Bench::Shard::Nodes.open(4) do |nodes|
    nodes.publish
    exit(Bench::Harness::Command.new("shard", FILES, ARGV).run)
  end
rescue Bench::Shard::Nodes::StartError => e
  warn("bin/bench shard: #{e.message}")
  exit(69)
end
