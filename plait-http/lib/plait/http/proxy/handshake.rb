# frozen_string_literal: true

require "plait/io/stream"
require "plait/values/errors"

module Plait
  module HTTP
    module Proxy
      # The talk with a proxy before its connection is the origin's. Whatever goes wrong in it, nothing has reached the
      # origin: it is a failure to connect, and asking again does nothing twice.
      class Handshake
        # @param proxy [#endpoint]
        # @param target [Io::Endpoint] whom the proxy shall connect to
        # @param deadline [Deadline, nil]
        def initialize(proxy, target, deadline)
          @proxy = proxy
          @target = target
          @deadline = deadline
        end

        # @param connector [Io::Connector]
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
        # @yieldparam stream [Io::Stream]
        # @return [Socket] the same
        # @raise [ConnectError, ConnectTimeout]
        def run(socket)
          stream = Io::Stream.new(socket, endpoint: @proxy.endpoint)
          yield stream
          raise refusal("has sent bytes that nobody asked for") unless stream.buffer.empty?

          done = socket
        rescue ReadTimeout, WriteTimeout
          raise timeout
        rescue ConnectionClosed, RemoteProtocolError => e
          raise refusal("did not connect us to", e)
        ensure
          socket.close unless done
        end

        # @param what [String] it did, "refused to connect us to"
        # @param reason [Exception, String, nil]
        # @return [ConnectError]
        def refusal(what, reason = nil)
          message = "the proxy #{@proxy} #{what} #{@target.name}"
          message += ": #{reason.is_a?(Exception) ? reason.message : reason}" if reason
          ConnectError.new(message, endpoint: @proxy.endpoint, causes: reason.is_a?(Exception) ? [reason] : [])
        end

        private

        def timeout
          ConnectTimeout.new("the proxy #{@proxy} did not connect us to #{@target.name} in time",
                             endpoint: @proxy.endpoint, phase: :connect)
        end
      end
    end
  end
end
