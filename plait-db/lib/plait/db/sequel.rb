# frozen_string_literal: true

require_relative "cut"
require_relative "detached_call"
require_relative "driver"
require_relative "errors"
require "plait/values/errors"

Plait::DB::Driver.load("sequel", "~> 5.50", feature: "sequel/core") { require "sequel/core" }
require "sequel/connection_pool/threaded"

module Plait
  module DB
    # `require "plait/db/sequel"`, before the first `Sequel.connect`: datasets and models work as ever under `on: :fibers` and
    # `:hybrid`.
    #
    # - Its pool knows the user of a connection by fiber (the extension `fiber_concurrency`). By thread, as Sequel has it, fibers
    #   share a connection and get each other's rows. What was connected before is refused.
    # - Its pool is the `:threaded` one, on every Ruby; another `pool_class:`, and `servers:`, are refused.
    # - A connection that was cut in the middle of a call, by a timeout or a cancellation, is closed. Sequel would give it to
    #   one after the other, each of which fails.
    # - Connections are made on threads of their own, which an interrupt need not wait for.
    # - A COMMIT that was cut raises {CommitUnknown}; a transaction that was cut behind it, {CommittedLate}.
    module Sequel
      # Closes what was cut, and what Sequel has left behind with a fiber that was interrupted while it waited for the lock of
      # the pool: that fiber would find it as its own.
      module Discarding
        # As Sequel's own.
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

        # Raised to Sequel, which closes the connection then, and never to the caller.
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
          close_what_is_off(connection) unless whole
        end

        # Nothing can be raised to Sequel in the middle of a kill or a throw: it takes the connection back, closed.
        def close_what_is_off(connection)
          return unless Cut.abandoned?(connection)

          Cut.break_off(connection)
          connection.close
        end

        def drop_the_dead = sync { @available_connections.reject! { |connection| Cut.off?(connection) } }

        # Sequel also makes an error of its own of any end of an attempt to connect.
        def original(error)
          cause = error.cause
          return cause if error.is_a?(Interrupted)

          error.is_a?(::Sequel::DatabaseConnectionError) && cause && !cause.is_a?(StandardError) ? cause : error
        end

        # `true` stands in the place of a connection that is being made.
        def clean_up
          owner = ::Sequel.current
          left = sync { @allocated.delete(owner).tap { |connection| @waiter.signal if connection } }
          disconnect_connection(left) if left && left != true
        end
      end

      # Chooses the pool that {Discarding} knows.
      module Choice
        # As Sequel's own.
        def get_pool(database, options = database.opts)
          odd = %i[pool_class servers single_threaded].find { |name| options[name] && options[name] != :threaded }
          if odd
            raise UsageError, "Sequel.connect(#{odd}: …) can't be used with plait/db/sequel: fibers need the pool :threaded"
          end

          super(database, options.merge(pool_class: :threaded))
        end
      end

      # Connects on a thread of its own.
      module Connecting
        # As Sequel's own.
        def new_connection(*) = DetachedCall.call(discard: method(:disconnect_connection)) { super }
      end

      # The server rolls back what was cut when its connection is closed.
      module Transactions
        # As Sequel's own.
        def transaction(*, **) = Commit.around(self) { super }

        private

        def commit_transaction(connection, *)
          return super if supports_savepoints? && savepoint_level(connection) > 1

          Commit.watch(self, ->(error) { refused?(connection, error) }) { super }
        end

        def refused?(connection, error)
          database_error_classes.any? { |kind| error.is_a?(kind) } && !Cut.off?(connection)
        end

        def rollback_transaction(connection, *)
          Cut.off?(connection) ? Cut.break_off(connection) : super
        end
      end

      # @return [void]
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
