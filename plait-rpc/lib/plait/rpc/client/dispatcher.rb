# frozen_string_literal: true

require_relative "lane"
require_relative "../refusal"
require_relative "../lock"
require "plait/values/errors"

module Plait
  module RPC
    class Client
      # Runs what the peer of one connection asks for, or says why not. Requests are run side by side; notifications one after
      # another, because they tell what has happened, and the order of that matters.
      class Dispatcher
        # Requests that are run at once, those aside that wait for an answer of the peer themselves.
        LIMIT = 32
        # Requests that wait; further ones are refused.
        QUEUE = 1024
        # Notifications that wait. None may be left out, and nobody is told: with more of them the connection is closed.
        NEWS = 64 * 1024

        # @param handler [Handler]
        def initialize(handler)
          @handler = handler
          @lock = Lock.new
          @requests = Lane.new("plait: answers a server", limit: LIMIT, room: QUEUE) { |incoming| run(incoming) }
          @news = Lane.new("plait: hears a server", limit: 1, room: NEWS) { |incoming| run(incoming) }
        end

        # @param incoming [Incoming]
        # @return [void]
        def take(incoming)
          incoming.dispatcher = self
          return if (incoming.notification? ? @news : @requests).push(incoming)
          return incoming.fail(Refusal.new(:busy, "#{QUEUE} requests wait already")) unless incoming.notification?

          incoming.connection.close("has brought #{NEWS} notifications that wait to be run")
        end

        # @return [Boolean] whether this is its first answer
        def settle(incoming) = @lock.exclusively { !incoming.answered? && incoming.answered! }

        # @return [Array(Object, Object)]
        def tell(error) = @handler.tell(error)

        # Nobody is left to read answers. To notifications there are none.
        # @return [void]
        def closed(_connection, error)
          @requests.close(forget: true)
          @news.close(forget: false)
          @handler.report(error) if error.is_a?(RemoteProtocolError)
        end

        # A method calls the peer, and waits.
        # @return [Object] the block's value
        def aside(_connection, &wait) = @requests.aside(&wait)

        private

        # What a method raises has been told to its caller.
        def run(incoming)
          Thread.current[:plait_rpc_incoming] = incoming
          @handler.run(incoming, @handler.find(incoming.method_name))
        rescue Exception # rubocop:disable Lint/RescueException
          nil
        ensure
          @handler.forget
        end
      end
    end
  end
end
