# frozen_string_literal: true

require "ipaddr"
require "plait/values/errors"

module Plait
  module HTTP
    module Proxy
      class SOCKS5
        # What is said on one connection to a SOCKS5 proxy. Reads exactly what the proxy owes us: the next byte is the
        # origin's.
        class Talk
          # The proxy works, and has not reached this address. Nobody else sees it.
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
          private_constant :VERSION, :NO_AUTHENTICATION, :PASSWORD, :NONE_OF_THESE, :IPV4, :NAME, :IPV6, :REPLIES

          # @param stream [Io::Stream]
          # @param handshake [Handshake] for its refusals
          # @param credentials [Array(String, String), nil]
          def initialize(stream, deadline, handshake, credentials)
            @stream = stream
            @deadline = deadline
            @handshake = handshake
            @credentials = credentials
          end

          # @param destination [Io::Endpoint]
          # @return [void]
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
            raise @handshake.refusal("refused to connect us to", wanted) if chosen == NONE_OF_THESE
            raise misspoken("the method #{chosen}, which was not offered") unless methods.include?(chosen)

            log_in if chosen == PASSWORD
          end

          # RFC 1929, which has a version of its own.
          def log_in
            user, password = @credentials
            send_bytes([1, user.bytesize, user.b, password.bytesize, password.b].pack("CCa*Ca*"))
            return if answer(2, 1).last.zero?

            raise @handshake.refusal("refused to connect us to", "it does not accept this user and password")
          end

          def take_reply
            _, reply = answer(2, VERSION)
            raise Unreachable, REPLIES.fetch(reply) { "it answered #{reply}, which RFC 1928 does not know" } unless reply.zero?

            skip_address(read(2).getbyte(1))
          end

          # From where it has connected: nobody needs to know. A port is behind it.
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
            return "it takes neither our user and password nor nobody's" if @credentials

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
      end
    end
  end
end
