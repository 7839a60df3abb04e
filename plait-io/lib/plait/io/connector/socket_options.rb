# frozen_string_literal: true

require "socket"
require "plait/values/errors"

module Plait
  module Io
    class Connector
      # What is set on a socket before it connects.
      class SocketOptions
        # Name of a keepalive setting => the option; a system that lacks one does without.
        KEEPALIVE = {
          idle: %i[TCP_KEEPIDLE TCP_KEEPALIVE], interval: %i[TCP_KEEPINTVL], count: %i[TCP_KEEPCNT]
        }.transform_values { |names| names.find { |name| Socket.const_defined?(name) } }.compact.freeze

        # @return [Addrinfo, nil] the source address
        attr_reader :local_address

        # @param nodelay [Boolean] send small segments at once
        # @param keepalive [Boolean, Hash{Symbol => Integer}] let the system probe idle peers; {idle: seconds before the
        #   first probe, interval: seconds between two, count: unanswered ones until the peer counts as dead}
        # @param local_address [String, nil] the source address
        # @raise [UsageError]
        def initialize(nodelay: true, keepalive: false, local_address: nil)
          @nodelay = nodelay
          @keepalive = keepalive
          @local_address = local_address && Addrinfo.ip(local_address)
          check_keepalive
        rescue SocketError
          raise UsageError, "local_address: #{local_address.inspect} is no IP address"
        end

        # @return [Boolean] whether an address of this family can be reached from the source address
        def suits?(family) = @local_address.nil? || @local_address.afamily == family

        # @param family [Integer] as Socket::AF_INET
        # @return [void]
        def apply(socket, family)
          return if family == Socket::AF_UNIX

          socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1) if @nodelay
          apply_keepalive(socket) if @keepalive
          socket.bind(@local_address) if @local_address
        end

        private

        def check_keepalive
          return unless @keepalive.is_a?(Hash)

          unknown = @keepalive.keys - KEEPALIVE.keys
          raise UsageError, "keepalive: there is no #{unknown.first.inspect}; there are idle, interval and count" if unknown.any?
        end

        def apply_keepalive(socket)
          socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_KEEPALIVE, 1)
          return unless @keepalive.is_a?(Hash)

          @keepalive.each do |name, value|
            socket.setsockopt(Socket::IPPROTO_TCP, Socket.const_get(KEEPALIVE.fetch(name)), value)
          end
        end
      end
    end
  end
end
