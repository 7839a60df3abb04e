# frozen_string_literal: true

require_relative "aside"
require_relative "database"
require_relative "driver"
require_relative "result"
require_relative "session"
require "plait/values/errors"

Plait::DB::Driver.load("sqlite3", "~> 1.7") { require "sqlite3" }
require_relative "sqlite/connection"
require_relative "sqlite/values"

module Plait
  module DB
    # SQLite by sqlite3. It computes in this process and keeps Ruby's lock meanwhile: nothing makes its queries faster, but
    # other threads and fibers get their turn every {Pace::SLICE} seconds. What another connection has locked is awaited for
    # `busy_timeout` milliseconds, without stopping them.
    class Sqlite < Session
      # Text that is no statement: blanks and comments.
      NOTHING = %r{\A(?:\s|;|--[^\n]*|/\*.*?\*/)*\z}m
      private_constant :NOTHING

      class << self
        # @return [Database]
        def open(address, options) = Database.new(self, address, options)

        # Each connection to a database in memory is a database of its own.
        # @return [Hash{Symbol => Object}]
        def pool_options(address) = in_memory?(address) ? { size: 1 } : {}

        # @return [Array<Module>]
        def errors = super + [::SQLite3::Exception]

        # @raise [UsageError]
        def check_pool(address, options)
          return unless in_memory?(address) && (options[:size] > 1 || options[:max_lifetime] || options[:idle_timeout])

          raise UsageError, "a database in memory lasts as long as its one connection: no size: but 1, no max_lifetime: and no " \
                            "idle_timeout:"
        end

        private

        def in_memory?(address) = ["", ":memory:"].include?(address.file)
      end

      private

      # It waits for nothing, and what it holds is this process's own.
      def begin_anew = Thread.handle_interrupt(Object => :never) { @driver = connect }

      def connect
        about = { busy_timeout: 5000, **@options }
        Connection.new(@address.file, about.except(:busy_timeout)).tap { |driver| driver.wait_for_locks(about[:busy_timeout]) }
      end

      def ask(driver, sql, values)
        statement = compile(driver, sql)
        run(driver, statement, values)
      ensure
        statement&.close
      end

      def ask_prepared(driver, sql, values)
        statement = prepared(sql) { compile(driver, sql) }
        run(driver, statement, values)
      ensure
        statement.reset! if statement && !statement.closed?
      end

      # SQLite would run the first and keep silent about the rest.
      def compile(driver, sql)
        statement = driver.prepare(sql)
        return statement if NOTHING.match?(statement.remainder)

        statement.close
        raise UsageError, "one statement at a time: nothing was done of #{sql}"
      end

      def discard(statement) = statement.close

      # SQLite keeps a connection open, and its locks, for as long as it has a statement.
      def forget_statements
        @statements.each_value { |statement| statement.close unless statement.closed? }
        super
      end

      def run(driver, statement, values)
        rows = bind(statement, values).execute.to_a
        return Result.new(columns(statement), rows, affected: rows.size) if statement.column_count.positive?

        Result.new([], [], affected: driver.changes, last_id: driver.last_insert_row_id)
      end

      # The driver keeps the names that it has read first; SQLite itself compiles a statement anew when its tables have changed.
      def columns(statement) = Array.new(statement.column_count) { |number| statement.column_name(number) }

      def bind(statement, values)
        statement.clear_bindings! # those of its last caller
        return bind_names(statement, values.first) if values.size == 1 && values.first.is_a?(Hash)

        count = statement.bind_parameter_count
        unless values.size == count
          raise UsageError, "#{values.size} values were given for #{count} placeholders of the statement"
        end

        statement.tap { statement.bind_params(*values.map { |value| Values.for(value) }) }
      end

      def bind_names(statement, values)
        statement.tap { statement.bind_params(values.transform_values { |value| Values.for(value) }) }
      end

      def each_row(driver, sql, values)
        statement = compile(driver, sql)
        columns = statement.columns.each(&:freeze)
        bind(statement, values).execute.each_with_index do |row, index|
          Aside.breathe if (index % Aside::ROWS).zero?
          yield Result.row(columns, row)
        end
      ensure
        statement.close if statement && !statement.closed?
      end

      # Two that have begun by reading can't both go on to write: who may write is decided at once.
      def begin_statement = @options[:readonly] ? "BEGIN" : "BEGIN IMMEDIATE"

      # What comes for a thread meanwhile comes when it is known what has become of it. A COMMIT that waits for a lock ends at
      # once, see {Pace#step}. To a fiber nothing comes but in such a wait.
      def undisturbed(&block) = Fiber.current_scheduler ? yield : Thread.handle_interrupt(Object => :never, &block)

      # SQLite has answered in any case: what it has not committed, it rolls back.
      def commit_unknown? = false

      def ping(_driver) = true

      def answer?(error) = error.is_a?(::SQLite3::Exception)

      def idle?(driver) = !driver.closed? && !driver.transaction_active?

      # In the child of a fork the end of a connection would undo what its parent is at.
      def forget(driver) = driver.discard

      # SQLite does it by itself when the disk is full, say.
      def rolled_back?(_error) = inside? && @driver && !@driver.closed? && !@driver.transaction_active?
    end
  end
end
