# frozen_string_literal: true

require "ipaddr"
require "plait/io/connector"
require "plait/io/endpoint"
require_relative "http"

module Plait
  module HTTP
    module Proxy
      # A SOCKS proxy, version 5 (RFC 1928), with or without a user and a password (RFC 1929). Frozen.
      class SOCKS5
        # The talk on one connection to a SOCKS5 proxy. It reads only the proxy's answers: the next byte is the origin's.
        class Talk
          # The proxy works and has not reached this address. Its message becomes that of a ConnectError.
          class Unreachable < StandardError; end

          VERSION = 5
          NO_AUTHENTICATION = 0
          PASSWORD = 2
          NONE_OF_THESE = 0xff
          IPV4, NAME, IPV6 = 1, 3, 4
          # RFC 1928 §6
          REPLIES = {
            1 => "it says that it failed", 2 => "its rules do not allow it", 3 => "it has no way to this network",
            4 => "it does not reach this host", 5 => "nothing listens there", 6 => "the way there is too long (TTL expired)",
            7 => "it can't connect (CONNECT is not supported)", 8 => "it does not know this kind of address"
          }.freeze

          # @param handshake [Handshake] for its refusals
          def initialize(stream, deadline, handshake, credentials)
            @stream = stream
            @deadline = deadline
            @handshake = handshake
            @credentials = credentials
          end

          # @raise [Unreachable]
          # @raise [ConnectError, ReadTimeout, WriteTimeout, ConnectionClosed, RemoteProtocolError]
          def call(destination)
            greet
            send_bytes([VERSION, 1, 0].pack("C3") + address(destination) + [destination.port].pack("n"))
            take_reply
          end

          private

          def greet
            methods = @credentials ? [NO_AUTHENTICATION, PASSWORD] : [NO_AUTHENTICATION]
            send_bytes([VERSION, methods.size, *methods].pack("C*"))
            chosen = answer(2, VERSION).last
            raise @handshake.refusal("refused to connect to", wanted) if chosen == NONE_OF_THESE
            raise misspoken("the method #{chosen}, which was not offered") unless methods.include?(chosen)

            log_in if chosen == PASSWORD
          end

          # RFC 1929, which has a version of its own.
          def log_in
            user, password = @credentials
            send_bytes([1, user.bytesize, user.b, password.bytesize, password.b].pack("CCa*Ca*"))
            return if answer(2, 1).last.zero?

            raise @handshake.refusal("refused to connect to", "it does not accept this user and password")
          end

          def take_reply
            _, reply = answer(2, VERSION)
            raise Unreachable, REPLIES.fetch(reply) { "it answered #{reply}, which RFC 1928 does not know" } unless reply.zero?

            skip_address(read(2).getbyte(1))
          end

          # The address from which it has connected, and a port: both are ignored.
          def skip_address(kind)
            case kind
            when IPV4 then read(4 + 2)
            when IPV6 then read(16 + 2)
            when NAME then read(read(1).ord + 2)
            else raise misspoken("an address of the kind #{kind}")
            end
          end

          def address(destination)
            host = destination.host
            return [NAME, host.bytesize, host.b].pack("CCa*") unless destination.literal?

            [destination.ipv6? ? IPV6 : IPV4].pack("C") + IPAddr.new(host).hton
          end

          def wanted
            return "it takes neither this user and password nor a connection without them" if @credentials

            "it wants a user and a password: give them as socks5://user:password@host:port"
          end

          # @return [Array<Integer>] bytes, of which the first one is the version
          def answer(count, version)
            bytes = read(count)
            return bytes.bytes if bytes.getbyte(0) == version
            raise misspoken("\"HT\": is it an HTTP proxy? Then give it as http://") if bytes == "HT"

            raise misspoken(bytes.inspect)
          end

          def misspoken(what) = RemoteProtocolError.new("it does not speak SOCKS5: it answered #{what}")

          def send_bytes(bytes) = @stream.write(bytes, deadline: @deadline)

          def read(count) = @stream.read_exactly(count, deadline: @deadline)
        end

        attr_reader :endpoint

        # @param credentials [Array(String, String), nil] user and password, of 1 to 255 bytes each
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

        # Asks for each of the origin's addresses in turn, where this side resolves them, until the proxy reaches one.
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

        def inspect = "#<#{self.class} #{self}>"

        private

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
          handshake.refusal("could not connect to", e.message)
        end
      end
    end
  end
end
