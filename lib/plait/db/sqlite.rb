# frozen_string_literal: true

require_relative "aside"
require_relative "database"
require_relative "driver"
require_relative "result"
require_relative "session"
require_relative "../values/errors"

Plait::DB::Driver.load("sqlite3", "~> 1.7") { require "sqlite3" }
require_relative "sqlite/connection"

module Plait
  module DB
    # SQLite by sqlite3. It computes in this process and keeps Ruby's lock meanwhile: nothing makes its queries faster, but
    # other threads and fibers get their turn every {Pace::SLICE} seconds. What another connection has locked is awaited for
    # `busy_timeout` milliseconds, without stopping them.
    class Sqlite < Session
      # @return [Database]
      def self.open(address, options) = Database.new(self, address, options)

      private

      def connect
        about = { busy_timeout: 5000, **@options }
        Connection.new(@address.file, about.except(:busy_timeout)).tap { |driver| driver.wait_for_locks(about[:busy_timeout]) }
      end

      def ask(driver, sql, values)
        statement = driver.prepare(sql)
        run(driver, statement, values)
      ensure
        statement&.close
      end

      def ask_prepared(driver, sql, values)
        statement = prepared(sql) { driver.prepare(sql) }
        run(driver, statement, values)
      ensure
        statement.reset! if statement && !statement.closed?
      end

      def discard(statement) = statement.close

      # SQLite keeps a connection open, and its locks, for as long as it has a statement.
      def forget_statements
        @statements.each_value { |statement| statement.close unless statement.closed? }
        super
      end

      def run(driver, statement, values)
        statement.clear_bindings! # those of its last caller
        rows = statement.execute(*values).to_a
        return Result.new(statement.columns, rows, affected: rows.size) if statement.column_count.positive?

        Result.new([], [], affected: driver.changes, last_id: driver.last_insert_row_id)
      end

      def each_row(driver, sql, values)
        statement = driver.prepare(sql)
        columns = statement.columns.each(&:freeze)
        statement.execute(*values).each_with_index do |row, index|
          Aside.breathe if (index % Aside::ROWS).zero?
          yield Result.row(columns, row)
        end
      ensure
        statement.close if statement && !statement.closed?
      end

      # Two that have begun by reading can't both go on to write: who may write is decided at once.
      def begin_statement = @options[:readonly] ? "BEGIN" : "BEGIN IMMEDIATE"

      def ping(_driver) = true

      def answer?(error) = error.is_a?(::SQLite3::Exception) || error.is_a?(UsageError)

      def idle?(driver) = !driver.closed? && !driver.transaction_active?

      # SQLite does it by itself when the disk is full, say.
      def rolled_back?(_error) = inside? && @driver && !@driver.closed? && !@driver.transaction_active?
    end
  end
end
