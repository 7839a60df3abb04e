# frozen_string_literal: true

require "plait/values"
require_relative "errors"
require_relative "cut"
require_relative "detached_call"
require_relative "driver"

Plait::DB::Driver.load("sequel", "~> 5.50", feature: "sequel/core") { require "sequel/core" }
require "sequel/connection_pool/threaded"

module Plait
  module DB
    # `require "plait/db/sequel"`, before the first `Sequel.connect`: datasets and models work as ever under `on: :fibers` and
    # `:hybrid`.
    #
    # - Its pool knows the user of a connection by fiber (the extension `fiber_concurrency`). By thread, as Sequel has it, fibers
    #   share a connection and get each other's rows. A database that was connected before is refused.
    # - Its pool is the `:threaded` one, on every Ruby; another `pool_class:`, and `servers:`, are refused.
    # - A connection that a timeout or a cancellation has cut in the middle of a call is closed. Sequel would lend it again, and
    #   each call would fail.
    # - Connections are made on threads of their own: an interrupt does not wait for them.
    # - A COMMIT that was cut raises {CommitUnknown}; a transaction that was cut after it, {CommittedLate}.
    module Sequel
      # Closes a cut connection, and one that Sequel leaves to a fiber that was interrupted while it waited for the pool's lock.
      # @api private
      module Discarding
        # Sequel wraps any error of an attempt to connect in one of its own. trilogy's `query_with_flags` raises a TypeError
        # where an interrupt comes before it has read the flags that it sets back.
        HIDING = [::Sequel::DatabaseConnectionError, TypeError].freeze
        private_constant :HIDING

        def hold(server = nil, &block)
          key = :"plait_sequel_#{object_id}"
          return super if Thread.current[key]

          begin
            Thread.current[key] = true
            value = super { |connection| use(connection, &block) }
            whole = true
            value
          rescue Exception => e # rubocop:disable Lint/RescueException
            whole = true
            clean_up
            raise original(e)
          ensure
            Thread.current[key] = nil
            drop_the_dead unless whole
          end
        end

        private

        # Makes Sequel close the connection; it never reaches the caller.
        class Interrupted < ::Sequel::DatabaseDisconnectError; end
        private_constant :Interrupted

        def use(connection)
          value = yield connection
          whole = true
          value
        rescue Exception => e # rubocop:disable Lint/RescueException
          whole = true
          raise if e.is_a?(StandardError) && !Cut.off?(connection)

          Cut.break_off(connection)
          raise Interrupted
        ensure
          close_cut(connection) unless whole
        end

        # A kill or a throw can't be replaced by an error for Sequel: Sequel takes the closed connection back.
        def close_cut(connection)
          return unless Cut.abandoned?(connection)

          Cut.break_off(connection)
          connection.close
        end

        def drop_the_dead = sync { @available_connections.reject! { |connection| Cut.off?(connection) } }

        def original(error)
          cause = error.cause
          return cause if error.is_a?(Interrupted)

          HIDING.any? { |kind| error.is_a?(kind) } && cause && !cause.is_a?(StandardError) ? cause : error
        end

        # `true` stands for a connection that is being made.
        def clean_up
          owner = ::Sequel.current
          left = sync { @allocated.delete(owner).tap { |connection| @waiter.signal if connection } }
          disconnect_connection(left) if left && left != true
        end
      end

      # Chooses the pool that {Discarding} knows.
      # @api private
      module Choice
        def get_pool(database, options = database.opts)
          odd = %i[pool_class servers single_threaded].find { |name| options[name] && options[name] != :threaded }
          if odd
            raise UsageError, "Sequel.connect(#{odd}: …) can't be used with plait/db/sequel: fibers need the pool :threaded"
          end

          super(database, options.merge(pool_class: :threaded))
        end
      end

      # Connects on a thread of its own.
      # @api private
      module Connecting
        def new_connection(*) = DetachedCall.call(discard: method(:disconnect_connection)) { Driver.ready(super) }
      end

      # The server rolls a cut transaction back at the end of its connection.
      # @api private
      module Transactions
        def transaction(*, **) = Commit.around(self) { super }

        private

        def commit_transaction(connection, *)
          return super if supports_savepoints? && savepoint_level(connection) > 1

          Commit.watch(self, ->(error) { refused?(connection, error) }) { super }
        end

        def refused?(connection, error) = database_error_classes.any? { |kind| error.is_a?(kind) } && !Cut.off?(connection)

        def rollback_transaction(connection, *) = Cut.off?(connection) ? Cut.break_off(connection) : super
      end

      private_constant :Discarding, :Choice, :Connecting, :Transactions

      # @raise [UsageError]
      def self.install
        if ::Sequel::DATABASES.any?
          raise UsageError, "require \"plait/db/sequel\" comes before Sequel.connect: fibers would get each other's rows from " \
                            "the pool of #{::Sequel::DATABASES.first.inspect}"
        end
        ::Sequel.extension(:fiber_concurrency)
        ::Sequel::Database.prepend(Transactions)
        ::Sequel::Database.prepend(Connecting)
        ::Sequel::ThreadedConnectionPool.prepend(Discarding)
        ::Sequel::ConnectionPool::ClassMethods.prepend(Choice)
      end

      install
    end
  end
end
