# frozen_string_literal: true

require_relative "handshake"
require_relative "socks5/talk"
require "plait/io/connector"
require "plait/io/endpoint"
require "plait/values/errors"

module Plait
  module HTTP
    module Proxy
      # A SOCKS proxy, version 5 (RFC 1928), with or without a user and a password (RFC 1929). Frozen; equal to another one
      # with the same credentials.
      class SOCKS5
        # @return [Io::Endpoint]
        attr_reader :endpoint
        # @return [Boolean] whether the proxy resolves names (socks5h)
        attr_reader :remote_dns

        # @param endpoint [Io::Endpoint]
        # @param credentials [Array(String, String), nil] user and password, of 1 to 255 bytes each
        # @param remote_dns [Boolean]
        # @raise [UsageError]
        def initialize(endpoint, credentials = nil, remote_dns: true)
          @endpoint = endpoint
          @credentials = credentials
          @remote_dns = remote_dns
          freeze
          return if credentials.nil? || credentials.all? { |word| word.bytesize.between?(1, 255) }

          raise UsageError, "the proxy #{self}: user and password have 1 to 255 bytes each (RFC 1929 §2)"
        end

        # @return [Boolean] false: it does not read requests
        def absolute_form?(_origin) = false

        # @return [nil] for requests; they are not the proxy's
        def authorization = nil

        # Asks for each of the origin's addresses in turn, where it is us who resolve them, until the proxy reaches one.
        # @param connector [Io::Connector]
        # @param origin [Origin]
        # @param deadline [Deadline, nil]
        # @param phases [Io::Connector::Phases]
        # @return [Socket] as if it were connected to the origin: without TLS yet
        # @raise [ConnectError, ResolveError, ConnectTimeout]
        # @raise [UsageError] for a name of more than 255 bytes
        def connect(connector, origin, deadline: nil, phases: Io::Connector::Phases.new)
          destinations = destinations(connector, origin.endpoint, deadline)
          handshake = Handshake.new(self, origin.endpoint, deadline)
          refusals = destinations.map do |destination|
            socket = handshake.connect(connector, phases)
            ask(socket, handshake, destination, deadline) or return socket
          end
          raise refusals.last
        end

        # @return [String] without the credentials
        def to_s = "socks5#{"h" if @remote_dns}://#{@endpoint.name}"

        def ==(other) = other.is_a?(SOCKS5) && identity == other.identity
        alias eql? ==

        def hash = identity.hash

        def inspect = "#<#{self.class} #{self}>"

        protected

        def identity = [@endpoint, @credentials, @remote_dns]

        private

        # @return [Array<Io::Endpoint>]
        def destinations(connector, target, deadline)
          raise UsageError, "#{target.host} is too long for SOCKS: 255 bytes (RFC 1928 §5)" if target.host.bytesize > 255
          return [target] if @remote_dns || target.literal?

          connector.resolver.resolve(target.host, target.port, deadline: deadline)
                   .map { |address| Io::Endpoint.tcp(address.ip_address, target.port) }
        end

        # @return [ConnectError, nil] why it can't be reached there; nil when it is
        def ask(socket, handshake, destination, deadline)
          handshake.run(socket) { |stream| Talk.new(stream, deadline, handshake, @credentials).call(destination) }
          nil
        rescue Talk::Unreachable => e
          handshake.refusal("could not connect us to", e.message)
        end
      end
    end
  end
end
