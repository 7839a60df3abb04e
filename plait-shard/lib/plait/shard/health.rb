# frozen_string_literal: true

require "io/wait"
require "openssl"
require "socket"
require "plait/values/errors"

module Plait
  module Shard
    # Whether nodes answer.
    # @api private
    module Health
      PING = "*1\r\n$4\r\nPING\r\n"
      FAILURES = [SystemCallError, SocketError, IOError, ConnectionError, TimeoutError, OpenSSL::SSL::SSLError].freeze
      private_constant :FAILURES

      # @param nodes [Array<Node>]
      # @param access [NodeAccess]
      # @return [Array<Boolean>] in their order
      def self.check(nodes, access) = nodes.map { |node| Thread.new { up?(node, access) } }.map(&:value)

      # One that asks for a password is there.
      # @return [Boolean]
      def self.up?(node, access)
        socket = access.connect(node)
        socket.write(PING)
        return false unless socket.to_io.wait_readable(access.timeout)

        socket.readpartial(64).start_with?("+PONG", "-NOAUTH", "-NOPERM")
      rescue *FAILURES
        false
      ensure
        socket&.close
      end
    end
  end
end
