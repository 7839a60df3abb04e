# frozen_string_literal: true

require "plait/io/connector"
require "plait/io/native"
require "plait/values/deadline"
require_relative "../native_wire"
require_relative "../pure_wire"

module Plait
  module HTTP
    # One HTTP/1.1 connection of a client: sends a request, receives the answer to it; of pools, redirects and retries it
    # knows nothing. Whatever ends an exchange early closes it, so that no answer ever reaches another request.
    Wire = Native.available? ? NativeWire : PureWire

    class Connections
      # Makes connections: by way of a proxy, with TLS, with HTTP/2, where route and options want that.
      class Dialer
        NEVER = { Object => :never }.freeze
        private_constant :NEVER

        # @param options [Options]
        def initialize(options)
          @options = options
          @lock = Mutex.new
        end

        # @param route [Route]
        # @param deadline [Deadline, nil]
        # @yieldparam wire [Wire, HTTP2::Wire] the block's from now on; no interrupt comes before that
        # @return [Wire, HTTP2::Wire]
        # @raise [ConnectError, ResolveError, TLSError, CertificateError, ConnectTimeout]
        # @raise [UnsupportedError] when HTTP/2 is wanted and its gem is not there
        def connect(route, deadline, &block)
          phases = Io::Connector::Phases.new
          take = ->(wire) { hand_over(wire, phases, &block) }
          found = if @options.http2 && route.origin.tls?
                    sharing.wire(route.origin, route.origin, deadline: deadline, take: take) { dial(route, deadline, phases) }
                  else
                    dial(route, deadline, phases)
                  end
          found.is_a?(Array) ? take.call(wire(route, *found)) : found
        ensure
          phases&.close
        end

        # @return [void]
        def close = @sharing&.close

        private

        def hand_over(wire, phases)
          Thread.handle_interrupt(NEVER) do
            phases.socket = nil
            yield wire if block_given?
          end
          wire
        end

        def wire(route, socket, phases)
          endpoint = route.origin.endpoint
          Wire.new(socket, tls: endpoint.tls?, endpoint: endpoint, phases: phases, limits: @options.limits)
        end

        # @return [Array(BasicSocket, Io::Connector::Phases)]
        def dial(route, deadline, phases)
          endpoint = route.origin.endpoint
          connector = endpoint.tls? ? secure : plain
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
          Thread.handle_interrupt(NEVER) { require "plait/io/tls" }
          return @options.tls unless @options.tls.is_a?(Hash)

          protocols = @options.http2 ? { alpn: http2::PROTOCOLS } : {}
          Io::TLS::Client.new(**protocols, **@options.tls)
        end

        def sharing = @sharing || @lock.synchronize { @sharing ||= http2::Sharing.new(limits: @options.limits) }

        # By a gem that not everybody has.
        def http2
          Thread.handle_interrupt(NEVER) { require_relative "../http2" }
          HTTP2
        end
      end
    end
  end
end
