# frozen_string_literal: true

require_relative "cut"
require_relative "driver"
require_relative "../values/errors"

Plait::DB::Driver.load("activerecord", ">= 7.1", "< 9", feature: "active_record") { require "active_record" }

module Plait
  module DB
    # `require "plait/db/active_record"`, after Rails or ActiveRecord: models work as ever under `on: :fibers` and `:hybrid`.
    #
    # - Its state is kept by fiber (`isolation_level = :fiber`). By thread, as ActiveRecord has it, fibers share a connection and
    #   get each other's rows. To set it back is refused.
    # - A connection that was cut in the middle of a call, by a timeout or a cancellation, is thrown away. ActiveRecord gives
    #   it to the next fiber, which fails.
    #
    # Its pool (`pool:` in the configuration) is the limit, however many fibers there are: those for whom there is no
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

      # Throws away what was cut.
      module Discarding
        # As ActiveRecord's own.
        def with_connection(...)
          outermost = !active_connection?
          super do |connection|
            Cut.watch(->(error) { discard_cut(connection, error) if outermost }) { yield connection }
          end
        end

        private

        # Its `raw_connection` would first ask the server whether it is there, on the connection that is in the middle of a
        # call, and so wait for what is to be cut.
        def discard_cut(connection, error)
          driver = connection.instance_variable_get(:@raw_connection)
          return unless error || (driver && Cut.abandoned?(driver))

          Cut.break_off(driver)
          connection.throw_away!
        end
      end

      # @return [void]
      def self.install
        ::ActiveRecord::Base.connection_handler.clear_active_connections!
        ::ActiveSupport::IsolatedExecutionState.isolation_level = :fiber
        ::ActiveSupport::IsolatedExecutionState.singleton_class.prepend(Isolation)
        ::ActiveRecord::ConnectionAdapters::ConnectionPool.prepend(Discarding)
      end

      install
    end
  end
end
