# frozen_string_literal: true

require "mongo"
require_relative "../cut"

module Plait
  module DB
    class Mongo
      # Closes a connection that was cut in the middle of a call. The driver would use it again, and whoever gets it would get
      # an error instead of an answer: it compares the numbers of requests.
      #
      # What an interrupt (a timeout, a kill) keeps the driver from entering in its books is made up for: who waits for a place,
      # or has one and does not know yet, would take it along, and in the end nobody would get a connection.
      module Discarding
        NEVER = { Object => :never }.freeze
        # The fiber's variable, and the connection's, that says who asks for it or has it.
        KEY = :plait_mongo_claim
        OWNER = :@plait_mongo_claim
        # What a call has of its pool: whether its request is over, and a connection.
        Claim = Struct.new(:served, :connection)
        # Of the driver's versions not each counts there.
        COUNTS = ::Mongo::Server::ConnectionPool.private_method_defined?(:wait_for_connection)
        private_constant :NEVER, :KEY, :OWNER, :Claim, :COUNTS

        # As the driver's own. A thread that is interrupted in the middle of it would take a place of the pool along.
        def check_in(connection)
          Thread.handle_interrupt(NEVER) do
            super
            connection.instance_variable_get(OWNER)&.connection = nil
          end
        end

        # As the driver's own.
        def with_connection(...)
          before = Thread.current[KEY]
          claim = Thread.current[KEY] = Claim.new(false)
          super do |connection|
            Thread.current[KEY] = nil # what is asked for in the block is its own affair
            Cut.watch(->(_) { connection.disconnect!(reason: :error) }) { yield connection }
          end
        ensure
          Thread.handle_interrupt(NEVER) do
            Thread.current[KEY] = before
            settle(claim) if claim
          end
        end

        private

        # Who asks for a connection, while the pool's lock is held or is waited for: so many requests the driver has to count.
        def wait_for_connection(...)
          (@asking ||= {}.compare_by_identity)[token = Object.new] = true
          super
        ensure
          @asking&.delete(token)
        end

        def get_connection(...)
          Thread.handle_interrupt(NEVER) do
            super.tap { |connection| own(connection) if connection }
          end
        end

        def own(connection)
          claim = Thread.current[KEY]
          connection.instance_variable_set(OWNER, claim)
          return unless claim

          claim.served = true
          claim.connection = connection
        end

        # Nothing is left to be done where the driver has not been interrupted.
        def settle(claim)
          count_anew if COUNTS && !claim.served
          connection = claim.connection
          return if connection.nil? || connection.pinned?

          @lock.synchronize { @checked_out_connections.include?(connection) } ? check_in(connection) : drop(connection)
        end

        def count_anew
          @lock.synchronize do
            @connection_requests = @asking&.size || 0
            offer
          end
        end

        # To those who wait. The lock is held.
        def offer
          @max_connecting_cv.signal
          @size_cv.signal
        end

        # It was on its way to its first user.
        def drop(connection)
          connection.disconnect!(reason: :error) unless connection.closed?
          @lock.synchronize do
            @pending_connections.delete(connection)
            offer
          end
          @populate_semaphore.signal
        end

        ::Mongo::Server::ConnectionPool.prepend(self)
      end
    end
  end
end
