# frozen_string_literal: true

require "plait/io/connector"
require "plait/io/stream"
require_relative "../pure_wire"

module Plait
  module HTTP
    module Proxy
      # The talk with a proxy before its connection is the origin's. If it fails, nothing has reached the
      # origin: it is a failure to connect, and asking again does nothing twice.
      class Handshake
        # @param target [Io::Endpoint] that the proxy shall connect to
        def initialize(proxy, target, deadline)
          @proxy = proxy
          @target = target
          @deadline = deadline
        end

        # @param phases [Io::Connector::Phases] to connect is to connect to the proxy
        # @return [Socket] to the proxy
        # @raise [ConnectError, ResolveError, ConnectTimeout]
        def connect(connector, phases)
          connector.tcp(@proxy.endpoint, deadline: @deadline, phases: phases)
        rescue ConnectError => e
          raise e.class.new("the proxy #{@proxy}: #{e.message}", endpoint: e.endpoint, causes: e.causes)
        rescue ConnectTimeout => e
          raise ConnectTimeout.new("the proxy #{@proxy}: #{e.message}", endpoint: e.endpoint, phase: e.phase)
        end

        # @param socket [Socket] connected to the proxy; closed unless the block comes to its end
        # @return [Socket] the same
        # @raise [ConnectError, ConnectTimeout]
        def run(socket)
          stream = Io::Stream.new(socket, endpoint: @proxy.endpoint)
          yield stream
          raise refusal("has sent bytes before any request") unless stream.buffer.empty?

          done = socket
        rescue ReadTimeout, WriteTimeout
          raise timeout
        rescue ConnectionClosed, RemoteProtocolError => e
          raise refusal("did not connect to", e)
        ensure
          socket.close unless done
        end

        # @param what [String] "refused to connect to"
        def refusal(what, reason = nil)
          message = "the proxy #{@proxy} #{what} #{@target.name}"
          message += ": #{reason.is_a?(Exception) ? reason.message : reason}" if reason
          ConnectError.new(message, endpoint: @proxy.endpoint, causes: reason.is_a?(Exception) ? [reason] : [])
        end

        private

        def timeout
          ConnectTimeout.new("the proxy #{@proxy} did not connect to #{@target.name} in time",
                             endpoint: @proxy.endpoint, phase: :connect)
        end
      end

      # A proxy that speaks HTTP: it forwards requests for http: (in absolute form, RFC 9112 §3.2.2), and connects us to
      # origins with TLS (CONNECT, RFC 9110 §9.3.6). Frozen.
      class HTTP
        # The kind of request of a wire.
        CONNECT = 2

        attr_reader :endpoint
        # @return [String, nil] the value of Proxy-Authorization
        attr_reader :authorization

        # @param credentials [Array(String, String), nil] user and password
        # @raise [UsageError]
        def initialize(endpoint, credentials = nil)
          @endpoint = endpoint
          @authorization = credentials && Auth.basic(*credentials)
          freeze
        end

        # @return [Boolean] whether requests to it name the whole URL, and carry {authorization}, for the proxy to read them
        def absolute_form?(origin) = !origin.tls?

        # @return [Socket] to the proxy where it forwards, else as if it were connected to the origin: without TLS yet
        # @raise [ConnectError, ConnectTimeout]
        def connect(connector, origin, deadline: nil, phases: Io::Connector::Phases.new)
          handshake = Handshake.new(self, origin.endpoint, deadline)
          socket = handshake.connect(connector, phases)
          return socket if absolute_form?(origin)

          handshake.run(socket) { |stream| tunnel(stream, origin.endpoint, deadline, handshake) }
        end

        # @return [String] without the credentials
        def to_s = "http://#{@endpoint.name}"

        def inspect = "#<#{self.class} #{self}>"

        private

        def tunnel(stream, target, deadline, handshake)
          place = target.name.sub(target.host, target.host_without_zone)
          fields = [["Host", place], ["Proxy-Authorization", @authorization]].select(&:last)
          request = Protocols::HTTP1::Serializer.request("CONNECT", place, fields)
          wire = PureWire.new(stream.io, endpoint: @endpoint)
          response = wire.open(request, nil, CONNECT, nil, deadline&.at)
          raise handshake.refusal("refused to connect to", reason(response)) unless response.ok?
          raise RemoteProtocolError, "it sent bytes before the origin could be asked" unless wire.detach.last.empty?
        end

        def reason(response)
          answer = "#{response.status} #{response.reason}".strip
          return answer unless response.status == 407

          wanted = response["proxy-authenticate"]
          "#{answer}: it wants #{"another " if @authorization}user and password#{" (#{wanted})" if wanted}: give them as " \
            "http://user:password@#{@endpoint.name}"
        end
      end
    end
  end
end
