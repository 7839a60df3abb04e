# frozen_string_literal: true

require "timeout"
require_relative "aside"
require_relative "database"
require_relative "driver"
require_relative "result"
require_relative "rolled_back"
require_relative "session"

Plait::DB::Driver.load("pg", "~> 1.5") { require "pg" }
require_relative "postgres/connection"
require_relative "postgres/types"

module Plait
  module DB
    # PostgreSQL by pg, which waits in Ruby: nothing blocks the loop.
    class Postgres < Session
      # Seconds for a server to break off a statement that nobody wants any longer.
      CANCEL_TIMEOUT = 2
      private_constant :CANCEL_TIMEOUT

      # @return [Database]
      def self.open(address, options) = Database.new(self, address, options)

      # @return [Array<Module>]
      def self.errors = super + [::PG::Error]

      private

      def connect
        Connection.new(@address.url.sub(/\?.*/m, ""), connect_timeout: 10, **@options).tap do |driver|
          driver.type_map_for_queries = Types.for_queries
        end
      end

      def ask(driver, sql, values) = result(values.empty? ? driver.exec(sql) : driver.exec_params(sql, values))

      # ALTER TABLE makes a prepared statement wrong, DISCARD and a pooler between here and the server make it unknown: it is
      # prepared anew then. In a transaction nothing can be asked after an error: the whole block has to be run again.
      def ask_prepared(driver, sql, values)
        result(driver.exec_prepared(name_of(driver, sql), values))
      rescue ::PG::FeatureNotSupported, ::PG::InvalidSqlStatementName
        forget_statement(driver, sql)
        raise unless idle?(driver)

        result(driver.exec_prepared(name_of(driver, sql), values))
      end

      # A name is never used again: one that could not be given up may still be there.
      def name_of(driver, sql)
        prepared(sql) { "plait_#{@names = (@names || 0) + 1}".tap { |name| driver.prepare(name, sql) } }
      end

      def forget_statement(driver, sql)
        name = @statements.delete(sql)
        discard(name) if name && idle?(driver)
      rescue ::PG::InvalidSqlStatementName
        nil
      end

      # In a transaction that has failed it can't be given up.
      def discard(name) = @driver.transaction_status == ::PG::PQTRANS_INERROR || @driver.exec("DEALLOCATE #{name}")

      def result(found)
        found.type_map = @types ||= Types.map
        Result.new(found.fields, found.values, affected: found.cmd_tuples)
      ensure
        found.clear
      end

      def each_row(driver, sql, values, &block)
        driver.send_query_params(sql, values)
        driver.fetch_row_by_row(Aside::ROWS)
        while (part = driver.get_result)
          each_of(part, &block)
          Aside.breathe
        end
        whole = true
      rescue Exception => e # rubocop:disable Lint/RescueException
        over = !e.is_a?(StandardError) || e.is_a?(::Timeout::Error) # the caller's time: see {Session#hang_up}
        raise
      ensure
        driver.break_off(CANCEL_TIMEOUT) unless whole || over
      end

      def each_of(part, &block)
        part.check
        result(part).each(&block)
      end

      def ping(driver) = driver.exec("").clear.nil?

      # Whatever was raised: the connection itself knows whether an answer is pending.
      def answer?(_error) = @driver && @driver.status == ::PG::CONNECTION_OK && !@driver.busy?

      def idle?(driver) = driver.status == ::PG::CONNECTION_OK && driver.transaction_status == ::PG::PQTRANS_IDLE

      # A transaction in which a statement has failed is answered with ROLLBACK, and no error.
      def commit(driver)
        result = driver.exec("COMMIT")
        raise RolledBack.because(:failed) if result.cmd_status == "ROLLBACK"
      ensure
        result&.clear
      end

      # libpq says goodbye when it is collected, whatever it is asked: nobody is to hear it.
      def forget(driver) = driver.drop_socket

      # The server would go on with a statement, and keep its locks, although nobody is there to hear of it.
      def break_off(driver, _identity) = driver.busy? && Plait.timeout(CANCEL_TIMEOUT) { driver.cancel }
    end
  end
end
