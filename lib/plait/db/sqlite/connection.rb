# frozen_string_literal: true

require "sqlite3"
require_relative "../guard"
require_relative "../session"
require_relative "pace"

module Plait
  module DB
    class Sqlite < Session
      # A SQLite3::Database that gives others their turn while it computes or waits for a lock, and lets one fiber or thread
      # in at a time.
      class Connection < ::SQLite3::Database
        GUARDED = %i[execute execute2 execute_batch execute_batch2 query get_first_row get_first_value].freeze
        private_constant :GUARDED

        # A statement's step is a call of its connection.
        class Statement < ::SQLite3::Statement
          def initialize(connection, sql)
            @plait_guard = connection.plait_guard
            super
          end

          # @return [Array, nil] the next row
          def step = @plait_guard.step { super }
        end

        prepend Guard.around(GUARDED & ::SQLite3::Database.public_instance_methods)

        # @api private
        def plait_guard = @plait_guard ||= Pace.new

        # As the driver's own, which names its class.
        # @return [SQLite3::Statement]; with a block: what the block returns
        def prepare(sql)
          statement = plait_guard.step { Statement.new(self, sql) }
          return statement unless block_given?

          begin
            yield statement
          ensure
            statement.close unless statement.closed?
          end
        end

        # @param milliseconds [Numeric] for which a lock of another connection is awaited
        # @return [void]
        def wait_for_locks(milliseconds)
          Pace.install(self)
          busy_handler { |tries| plait_guard.await_lock(tries, milliseconds / 1000.0) }
        end
      end
    end
  end
end
