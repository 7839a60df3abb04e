# frozen_string_literal: true

require "sqlite3"
require_relative "../guard"
require_relative "../session"
require "plait/io/native"
require_relative "pace"

module Plait
  module DB
    class Sqlite < Session
      # A SQLite3::Database that gives others their turn while it computes or waits for a lock, and lets one fiber or thread
      # in at a time.
      class Connection < ::SQLite3::Database
        # What takes no lock of SQLite's. Anything else would wait for a statement of another thread with Ruby's lock held,
        # without which that statement never ends.
        FREE = %i[closed? complete? interrupt prepare readonly? translator type_translation= collations results_as_hash
                  results_as_hash= discard plait_guard wait_for_locks].freeze
        private_constant :FREE

        # Its methods are calls of its connection.
        class Statement < ::SQLite3::Statement
          FREE = %i[closed? done? remainder active? must_be_open! step].freeze
          private_constant :FREE

          # @api private
          attr_reader :plait_guard

          def initialize(connection, sql)
            @plait_guard = connection.plait_guard
            super
          end

          # @return [Array, nil] the next row
          def step = plait_guard.step { super }

          prepend Guard.around(::SQLite3::Statement.public_instance_methods(false) - FREE)
        end

        prepend Guard.around(::SQLite3::Database.public_instance_methods(false) - FREE)

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
          plait_guard.patience = milliseconds / 1000.0
          @file = Pace.install(self)
          busy_handler { |tries| plait_guard.await_lock(tries) } unless @file
        end

        # In the child of a fork: closes the file without a word of SQLite's. An ordinary end would roll back its parent's
        # transaction, in the parent's file, and delete the parent's journal. Needs the extension.
        # @return [void]
        def discard
          return unless @file

          statements = ObjectSpace.each_object(Statement).select { |statement| statement.plait_guard.equal?(plait_guard) }
          Native.discard_sqlite(self, @file, statements)
        end
      end
    end
  end
end
