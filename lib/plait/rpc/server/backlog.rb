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

        # It is over. Nobody is left to read the answers to what was held back: those who notify wait for none.
        # @return [void]
        def abandon(peer)
          peer.held&.select!(&:notification?)
          release(peer)
        end

        private

        def hold?(incoming) = incoming.connection.congested? && !incoming.connection.closed?
      end
    end
  end
end
