# frozen_string_literal: true

require "mongo"
require_relative "../cut"

module Plait
  module DB
    class Mongo
      # Closes a connection that was cut in the middle of a call. The driver would use it again, and whoever gets it would get
      # an error instead of an answer: it compares the numbers of requests.
      module Discarding
        NEVER = { Object => :never }.freeze
        private_constant :NEVER

        # As the driver's own. A thread that is interrupted in the middle of it would take a place of the pool along.
        def check_in(...) = Thread.handle_interrupt(NEVER) { super }

        # As the driver's own.
        def with_connection(...)
          super do |connection|
            Cut.watch(->(_) { connection.disconnect!(reason: :error) }) { yield connection }
          end
        end

        ::Mongo::Server::ConnectionPool.prepend(self)
      end
    end
  end
end
