# frozen_string_literal: true

require "plait/shard"
require "socket"
require_relative "nodes"

module Bench
  module Shard
    # What Proxy#reshard takes, from its call to its end.
    module Reshard
      VALUE = "v" * 10

      class << self
        # @param trial [Harness::Trial] with the size `keys`
        def report(trial)
          servers = Nodes.ports.map { |port| "127.0.0.1:#{port}" }
          with_proxy(servers[0..-2]) do |proxy|
            fill(proxy.port, trial[:keys])
            cpu = Harness::Meter.cpu
            wall = Harness::Meter.wall
            moved = proxy.reshard(nodes: servers)
            wall = Harness::Meter.wall - wall
            trial.report(operations: trial[:keys], result: moved, cpu: Harness::Meter.cpu - cpu, wall: wall,
                         figures: { "keys_per_s" => trial[:keys] / wall, "moved_per_s" => moved / wall })
          end
        end

        private

        def with_proxy(servers)
          Nodes.ports.each { |port| ask(port, "*1\r\n$8\r\nFLUSHALL\r\n", 5) }
          proxy = Plait::Shard::Proxy.new(listen: "127.0.0.1:0", nodes: servers, placement: :cluster)
          proxy.start
          yield(proxy)
        ensure
          proxy&.stop
        end

        def fill(port, count)
          (0...count).each_slice(1_000) do |numbers|
            commands = numbers.map { |number| "*3\r\n$3\r\nSET\r\n$10\r\n#{format("key:%06d", number)}\r\n$10\r\n#{VALUE}\r\n" }
            ask(port, commands.join, numbers.size * 5)
          end
        end

        # @param size [Integer] bytes of the answer
        def ask(port, bytes, size)
          TCPSocket.open("127.0.0.1", port) do |client|
            client.write(bytes)
            client.read(size)
          end
        end
      end
    end
  end
end
