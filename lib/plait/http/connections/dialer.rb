# frozen_string_literal: true

require_relative "../wire"
require_relative "../../io/connector"
require_relative "../../values/deadline"

module Plait
  module HTTP
    class Connections
      # Makes connections: by way of a proxy, with TLS, with HTTP/2, where route and options want that.
      class Dialer
        # @param options [Options]
        def initialize(options)
          @options = options
          @lock = Mutex.new
        end

        # @param route [Route]
        # @param deadline [Deadline, nil]
        # @return [Wire, HTTP2::Wire]
        # @raise [ConnectError, ResolveError, TLSError, CertificateError, ConnectTimeout]
        # @raise [UnsupportedError] when HTTP/2 is wanted and its gem is not there
        def connect(route, deadline)
          return wire(route, *dial(route, deadline)) unless @options.http2 && route.origin.tls?

          found = sharing.wire(route.origin, route.origin, deadline: deadline) { dial(route, deadline) }
          found.is_a?(Array) ? wire(route, *found) : found
        end

        # @return [void]
        def close = @sharing&.close

        private

        def wire(route, socket, phases)
          endpoint = route.origin.endpoint
          Wire.new(socket, tls: endpoint.tls?, endpoint: endpoint, phases: phases, limits: @options.limits)
        end

        # @return [Array(BasicSocket, Io::Connector::Phases)]
        def dial(route, deadline)
          endpoint = route.origin.endpoint
          connector = endpoint.tls? ? secure : plain
          phases = Io::Connector::Phases.new
          return [connector.connect(endpoint, deadline: deadline, phases: phases), phases] unless route.proxy

          socket = route.proxy.connect(connector, route.origin, deadline: deadline, phases: phases)
          socket = shake_hands(socket, endpoint, deadline, phases) if endpoint.tls?
          [socket, phases]
        end

        def shake_hands(socket, endpoint, deadline, phases)
          start = Deadline.now
          secure.tls.handshake(socket, endpoint, deadline: deadline).tap { phases.tls = Deadline.now - start }
        end

        def plain = @plain || @lock.synchronize { @plain ||= Io::Connector.new(**@options.connector) }

        def secure = @secure || @lock.synchronize { @secure ||= Io::Connector.new(tls: tls, **@options.connector) }

        # OpenSSL takes longer to load than all the rest.
        def tls
          require_relative "../../io/tls"
          return @options.tls unless @options.tls.is_a?(Hash)

          protocols = @options.http2 ? { alpn: http2::PROTOCOLS } : {}
          Io::TLS::Client.new(**protocols, **@options.tls)
        end

        def sharing = @sharing || @lock.synchronize { @sharing ||= http2::Sharing.new(limits: @options.limits) }

        # By a gem that not everybody has.
        def http2
          require_relative "../http2"
          HTTP2
        end
      end
    end
  end
end
