# frozen_string_literal: true

require "socket"
require_relative "../../harness/gem_paths"
require_relative "../../harness/meter"
require_relative "../../harness/processors"

module Bench
  module Shard
    # The redis-servers of `plait lab shard`, on one processor, for the contestants, which are processes of their own.
    module Nodes
      VARIABLE = "PLAIT_BENCH_SHARD_PORTS"
      ROOT = File.expand_path("../../..", __dir__)
      # Seconds for a server to listen; raising it helps a busy machine.
      START_SECONDS = 60
      private_constant :VARIABLE, :ROOT, :START_SECONDS

      class << self
        # Has so many of them run meanwhile.
        # @raise [Plait::UnsupportedError] without redis-server
        def around(count, &block)
          Harness::GemPaths.new(ROOT).load("plait")
          require "plait/suites"
          require "plait/suites/shard/redis_servers"
          Plait::Suites::RedisServers.open(count, place: Harness::Processors.for_origin) do |addresses|
            ENV[VARIABLE] = addresses.map { |address| address[/\d+\z/] }.join(" ")
            block.call
          end
        end

        # @return [Array<Integer>] the published ones, in a contestant's process
        def ports = ENV.fetch(VARIABLE).split.map { |port| Integer(port) }

        # @return [Integer]
        def free_port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }

        # @param ends [Float] monotonic seconds after which it is too late
        # @return [Boolean] whether a server listens there in time
        def listening?(port, ends = Harness::Meter.wall + START_SECONDS)
          TCPSocket.new("127.0.0.1", port).close
          true
        rescue SystemCallError
          return false if Harness::Meter.wall > ends

          sleep(0.01)
          retry
        end
      end
    end
  end
end
