# frozen_string_literal: true

module Plait
  module RPC
    class Server
      # The requests that wait for a worker, in the order in which they came. All of it is used under the server's lock, but
      # for {#room?}, which may be a little behind.
      class Backlog
        # @param limit [Integer] requests of all connections
        # @param each [Integer] requests of one connection, those included that are being run
        def initialize(limit, each)
          @limit = limit
          @each = each
          @queue = []
        end

        # @return [Integer]
        def size = @queue.size

        # @return [Boolean] whether another one of this connection may be taken
        def room?(peer) = @queue.size < @limit && peer.in_flight < @each && !peer.connection.congested?

        # @return [Boolean] whether those that were turned away may come again
        def low? = @queue.size <= @limit / 2

        # @return [Boolean] whether one that was turned away has still too many of its own
        def much_of?(peer) = peer.in_flight > @each / 2

        # @return [Boolean] false: there is no room
        def push(incoming)
          return false if @queue.size >= @limit

          @queue << incoming
          true
        end

        # The next one. Those of peers who don't read what they are sent are held back.
        # @return [Incoming, nil]
        def shift
          while (incoming = @queue.shift)
            return incoming unless hold?(incoming)

            (incoming.connection.session.held ||= []) << incoming
          end
        end

        # What was held back is next.
        # @return [void]
        def release(peer)
          return unless peer.held

          @queue.unshift(*peer.held)
          peer.held = nil
        end

        # It is over, and nobody is left to read answers: its requests are forgotten. Who notifies waits for none.
        # @return [void]
        def abandon(peer)
          release(peer)
          return unless peer.in_flight.positive?

          before = @queue.size
          @queue.reject! { |incoming| incoming.id && incoming.connection.equal?(peer.connection) }
          peer.in_flight -= before - @queue.size
        end

        private

        def hold?(incoming) = incoming.connection.congested? && !incoming.connection.closed?
      end
    end
  end
end
