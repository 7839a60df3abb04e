# frozen_string_literal: true

require "plait/values"
require_relative "errors"
require_relative "cut"
require_relative "detached_call"
require_relative "driver"

Plait::DB::Driver.load("activerecord", ">= 7.1", "< 9", feature: "active_record") { require "active_record" }

module Plait
  module DB
    # `require "plait/db/active_record"`, after Rails or ActiveRecord: models work as ever under `on: :fibers` and `:hybrid`.
    #
    # - Its state is kept by fiber (`isolation_level = :fiber`). By thread, as ActiveRecord has it, fibers share a connection and
    #   get each other's rows. Another level is refused.
    # - A connection that a timeout or a cancellation has cut in the middle of a call is thrown away. ActiveRecord would give it
    #   to the next fiber, which would fail. A connection that an interrupt has separated from its user is thrown away, too:
    #   ActiveRecord would keep it until the user's thread ends.
    # - Connections are made on threads of their own: an interrupt does not wait for them.
    # - A COMMIT that was cut raises {CommitUnknown}; a transaction that was cut after it, {CommittedLate}.
    #
    # Its pool (`pool:` in the configuration) is the limit, however many fibers there are: fibers without a
    # connection wait for `checkout_timeout` seconds. From 7.2 on a connection is given back after each query or transaction;
    # in 7.1 a fiber keeps it until it ends, unless the work is in `ActiveRecord::Base.connection_pool.with_connection`.
    module ActiveRecord
      # Refuses a level that would give wrong answers.
      # @api private
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

      # The fiber's variable with its connection, before and after the block that uses it.
      KEY = :plait_active_record_connection

      # Throws away a cut connection, and one that an interrupt has separated from its user.
      # @api private
      module Discarding
        LEASES = Gem::Version.new("7.2")
        private_constant :LEASES

        def with_connection(...)
          return super if active_connection?

          begin
            Thread.current[KEY] = nil
            super do |connection|
              Thread.current[KEY] = nil # a call in the block has a checkout of its own
              Cut.watch(->(error) { discard_cut(connection, error) }) { yield connection }
            ensure
              Thread.current[KEY] = connection
            end
          ensure
            Uninterruptible.run { recover }
          end
        end

        # An interrupt would leave ActiveRecord's method half done, which never waits for a server.
        def checkin(...) = Uninterruptible.run { super }

        def remove(...) = Uninterruptible.run { super }

        private

        # A connection connects at its first use, not here.
        def try_to_checkout_new_connection(...) = Uninterruptible.run { super }

        def recover
          connection = Thread.current[KEY]
          Thread.current[KEY] = nil
          @available.recount
          return if connection.nil?
          return give_back if connection.equal?(active_connection?)

          connection.throw_away! if connection.owner.equal?(::ActiveSupport::IsolatedExecutionState.context)
        end

        # An interrupt came before ActiveRecord could give it back: it would be the connection of the next item.
        def give_back = (release_connection unless kept_on_purpose?)

        # Since 7.2 the block may have leased it for longer.
        def kept_on_purpose? = respond_to?(:connection_lease, true) ? connection_lease.sticky : ::ActiveRecord.version >= LEASES

        # ActiveRecord's `raw_connection` would first check the server, on the connection in the middle of a call, and so wait for
        # the very answer that was cut.
        def discard_cut(connection, error)
          driver = connection.instance_variable_get(:@raw_connection)
          return unless error || (driver && Cut.abandoned?(driver))

          Cut.break_off(driver)
          connection.throw_away!
        end
      end

      # Notes a fiber's new connection.
      # @api private
      module Leasing
        def lease = Uninterruptible.run { super.tap { Thread.current[KEY] = self } }
      end

      # Corrects the queue for connections. ActiveRecord would count an interrupted fiber as waiting without end, and make other
      # fibers wait although there are connections.
      # @api private
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
      # @api private
      module Connecting
        def new_client(*) = DetachedCall.call(discard: :close.to_proc) { Driver.ready(super) }
      end

      # An interrupt may come after a COMMIT, in callbacks of ActiveRecord.
      # @api private
      module Transactions
        def transaction(**) = Commit.around(self) { super }
      end

      # Raises an error that says whether a cut transaction is committed.
      # @api private
      module Committing
        LOST = [::ActiveRecord::ConnectionFailed, ::ActiveRecord::AdapterTimeout].freeze
        private_constant :LOST

        def commit = materialized? ? Commit.watch(connection, method(:refused?)) { super } : super

        private

        def refused?(error)
          driver = connection.instance_variable_get(:@raw_connection)
          error.is_a?(::ActiveRecord::StatementInvalid) && LOST.none? { |kind| error.is_a?(kind) } && driver && !Cut.off?(driver)
        end
      end

      # Adapters that may be loaded later.
      HOOKS = %i[active_record_mysql2adapter active_record_trilogyadapter active_record_postgresqladapter].freeze
      private_constant :KEY, :Isolation, :Discarding, :Leasing, :Counting, :Connecting, :Transactions, :Committing, :HOOKS

      # Once, in the whole process.
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
