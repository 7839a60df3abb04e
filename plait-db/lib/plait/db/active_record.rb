# frozen_string_literal: true

require_relative "cut"
require_relative "detached_call"
require_relative "driver"
require_relative "errors"
require "plait/values/errors"
require "plait/values/uninterruptible"

Plait::DB::Driver.load("activerecord", ">= 7.1", "< 9", feature: "active_record") { require "active_record" }

module Plait
  module DB
    # `require "plait/db/active_record"`, after Rails or ActiveRecord: models work as ever under `on: :fibers` and `:hybrid`.
    #
    # - Its state is kept by fiber (`isolation_level = :fiber`). By thread, as ActiveRecord has it, fibers share a connection and
    #   get each other's rows. To set it back is refused.
    # - A connection that was cut in the middle of a call, by a timeout or a cancellation, is thrown away. ActiveRecord gives
    #   it to the next fiber, which fails. So is one that an interrupt has parted from its user: ActiveRecord keeps it until the
    #   user's thread has ended.
    # - Connections are made on threads of their own, which an interrupt need not wait for.
    # - A COMMIT that was cut raises {CommitUnknown}; a transaction that was cut behind it, {CommittedLate}.
    #
    # Its pool (`pool:` in the configuration) is the limit, however many fibers there are: fibers without a
    # connection wait for `checkout_timeout` seconds. From 7.2 on a connection is given back after each query or transaction;
    # in 7.1 a fiber keeps it until it ends, unless the work is in `ActiveRecord::Base.connection_pool.with_connection`.
    module ActiveRecord
      # Refuses what would give wrong answers.
      module Isolation
        # @raise [UsageError]
        def isolation_level=(level)
          unless level == :fiber
            raise UsageError, "ActiveRecord's isolation_level must stay :fiber, or fibers get each other's rows. In Rails: " \
                              "config.active_support.isolation_level = :fiber"
          end
          super
        end
      end

      # The fiber's variable with the connection that it has got, and its block has not, or no longer.
      KEY = :plait_active_record_leased
      private_constant :KEY

      # Throws away what was cut, and what an interrupt has parted from its user.
      module Discarding
        # As ActiveRecord's own.
        def with_connection(...)
          return super if active_connection?

          begin
            Thread.current[KEY] = nil
            super do |connection|
              Thread.current[KEY] = nil # what is asked for in the block is its own affair
              Cut.watch(->(error) { discard_cut(connection, error) }) { yield connection }
            ensure
              Thread.current[KEY] = connection
            end
          ensure
            Uninterruptible.run { recover }
          end
        end

        # As ActiveRecord's own, which an interrupt would leave half done: nothing in here waits for a server.
        def checkin(...) = Uninterruptible.run { super }

        # As {checkin}.
        def remove(...) = Uninterruptible.run { super }

        private

        # As {checkin}: a connection connects when it is first used.
        def try_to_checkout_new_connection(...) = Uninterruptible.run { super }

        def recover
          connection = Thread.current[KEY]
          Thread.current[KEY] = nil
          @available.recount
          return if connection.nil? || connection.equal?(active_connection?)

          connection.throw_away! if connection.owner.equal?(::ActiveSupport::IsolatedExecutionState.context)
        end

        # Its `raw_connection` would first ask the server whether it is there, on the connection that is in the middle of a
        # call, and so wait for what is to be cut.
        def discard_cut(connection, error)
          driver = connection.instance_variable_get(:@raw_connection)
          return unless error || (driver && Cut.abandoned?(driver))

          Cut.break_off(driver)
          connection.throw_away!
        end
      end

      # Of a connection.
      module Leasing
        # As ActiveRecord's own.
        def lease = Uninterruptible.run { super.tap { Thread.current[KEY] = self } }
      end

      # Of the queue for connections. ActiveRecord counts an interrupted fiber as waiting to the end, and lets the
      # others wait for as long as they may although there are connections.
      module Counting
        # The pool's lock is held.
        # @api private
        def recount
          synchronize do
            asking.delete(Fiber.current)
            @cond.signal unless @queue.empty?
            @num_waiting = asking.size
          end
        end

        private

        def wait_poll(...)
          asking[Fiber.current] = true
          super
        ensure
          asking.delete(Fiber.current)
        end

        def asking = @asking ||= {}.compare_by_identity
      end

      # Connects on a thread of its own.
      module Connecting
        # As the adapter's own.
        def new_client(*) = DetachedCall.call(discard: :close.to_proc) { super }
      end

      # What ActiveRecord does behind a COMMIT (callbacks, say) may be cut, too.
      module Transactions
        # As ActiveRecord's own.
        def transaction(**) = Commit.around(self) { super }
      end

      # Tells what becomes of a transaction.
      module Committing
        LOST = [::ActiveRecord::ConnectionFailed, ::ActiveRecord::AdapterTimeout].freeze
        private_constant :LOST

        # As ActiveRecord's own.
        def commit = materialized? ? Commit.watch(connection, method(:refused?)) { super } : super

        private

        def refused?(error)
          driver = connection.instance_variable_get(:@raw_connection)
          error.is_a?(::ActiveRecord::StatementInvalid) && LOST.none? { |kind| error.is_a?(kind) } && driver && !Cut.off?(driver)
        end
      end

      # What is loaded later.
      HOOKS = %i[active_record_mysql2adapter active_record_trilogyadapter active_record_postgresqladapter].freeze
      private_constant :HOOKS

      # @return [void]
      def self.install
        ::ActiveRecord::Base.connection_handler.clear_active_connections!
        ::ActiveSupport::IsolatedExecutionState.isolation_level = :fiber
        ::ActiveSupport::IsolatedExecutionState.singleton_class.prepend(Isolation)
        ::ActiveRecord::ConnectionAdapters::ConnectionPool.prepend(Discarding)
        ::ActiveRecord::ConnectionAdapters::ConnectionPool::Queue.prepend(Counting)
        ::ActiveRecord::ConnectionAdapters::AbstractAdapter.prepend(Leasing, Transactions)
        ::ActiveRecord::ConnectionAdapters::RealTransaction.prepend(Committing)
        HOOKS.each { |hook| ::ActiveSupport.on_load(hook) { singleton_class.prepend(Connecting) } }
      end

      install
    end
  end
end
