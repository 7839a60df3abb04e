# frozen_string_literal: true

module Plait
  module RPC
    class Server
      # The connections with answers that wait to be sent together. Used under the server's lock, but for {#any?}, which may be
      # a little behind.
      class Gathered
        def initialize
          @connections = {}.compare_by_identity
        end

        # @return [Boolean]
        def any? = !@connections.empty?

        # @param connection [Connection]
        # @return [true]
        def add(connection) = @connections[connection] = true

        # @return [void]
        def delete(connection) = @connections.delete(connection)

        # @return [Array<Connection>] all of them, which are forgotten by that
        def take
          connections = @connections.keys
          @connections.clear
          connections
        end
      end
    end
  end
end
