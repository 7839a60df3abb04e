# frozen_string_literal: true

require "io/wait"
require "socket"

module Plait
  module Shard
    # Whether nodes answer.
    # @api private
    module Health
      PING = "*1\r\n$4\r\nPING\r\n"

      # @param nodes [Array<Node>]
      # @param timeout [Numeric] seconds, for all at once
      # @return [Array<Boolean>] in their order
      def self.check(nodes, timeout) = nodes.map { |node| Thread.new { up?(node, timeout) } }.map(&:value)

      # One that asks for a password is there.
      # @return [Boolean]
      def self.up?(node, timeout)
        Socket.tcp(node.host, node.port, connect_timeout: timeout) do |socket|
          socket.write(PING)
          next false unless socket.wait_readable(timeout)

          socket.readpartial(64).start_with?("+PONG", "-NOAUTH", "-NOPERM")
        end
      rescue SystemCallError, SocketError, EOFError
        false
      end
    end
  end
end
