# frozen_string_literal: true

require_relative "address"
require_relative "async_result"
require_relative "dispatcher"
require_relative "object_dispatcher"
require_relative "server/answers"
require_relative "session_pool"
require_relative "tcp_server_transport"
require_relative "version"
require_relative "../server"

module Plait
  module RPC
    module Compat
      # Serves the methods of an object, and is a pool of sessions to other servers. Methods are run one at a time, but where they
      # wait others go on: each is run in a fiber.
      class Server < SessionPool
        # Seconds that {#stop} and {#close} give to what has begun.
        DRAIN = 1
        # Where there are no fibers that can wait, one thread does the work.
        MANNER = RUBY_ENGINE == "jruby" ? { on: :threads, limit: 1 }.freeze : { on: :fibers }.freeze

        # @param object [Dispatcher, Object]
        # @param accept [Array<Symbol, String>, nil] the methods that can be called; nil: see {ObjectDispatcher}
        # @return [self]
        def serve(object, accept = nil)
          @dispatcher = object.is_a?(Dispatcher) ? object : ObjectDispatcher.new(object, accept)
          self
        end

        # @overload listen(host, port, object = nil, accept = nil)
        # @overload listen(listener, object = nil, accept = nil)
        #   @param listener [TCPServerTransport, UNIXServerTransport]
        # @return [nil]
        def listen(first, *rest)
          listener = first.respond_to?(:listen) ? first : TCPServerTransport.new(Address.new(first, rest.shift))
          object, accept = rest
          serve(object, accept) unless object.nil?
          listener.listen(self)
          nil
        end

        # Stops serving and closes all of its sessions.
        # @return [nil]
        def close
          @loop.detach(self)
          rest
          super
        end

        # @api private
        def dispatch(method, arguments, &early)
          dispatcher = @dispatcher or raise "this server serves nothing yet"
          dispatcher.dispatch(method, arguments, &early)
        end

        # For listeners.
        # @return [void]
        # @api private
        def open(...)
          @server ||= RPC::Server.new(Answers.new(self), introspection: false, **MANNER)
          @server.listen(...)
          @loop.attach(self)
        end

        # The loop turns.
        # @return [void]
        # @api private
        def begin
          @lock.synchronize { @thread ||= @server&.start }
        end

        # It does no more.
        # @return [void]
        # @api private
        def rest
          server, thread = @lock.synchronize { [@server, @thread].tap { @server = @thread = nil } }
          return unless server

          server.stop(within: DRAIN)
          thread ? thread.join : server.run # which closes its sockets, too
        end
      end
    end
  end
end
