# frozen_string_literal: true

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

      private

      def connect
        Connection.new(@address.url.sub(/\?.*/m, ""), connect_timeout: 10, **@options)
      end

      def ask(driver, sql, values) = result(values.empty? ? driver.exec(sql) : driver.exec_params(sql, values))

      def ask_prepared(driver, sql, values)
        name = prepared(sql) { "plait_#{@statements.size}_#{sql.hash.abs}".tap { |fresh| driver.prepare(fresh, sql) } }
        result(driver.exec_prepared(name, values))
      end

      def discard(name) = @driver.exec("DEALLOCATE #{name}")

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
      ensure
        driver.break_off(CANCEL_TIMEOUT) unless whole
      end

      def each_of(part, &block)
        part.check
        result(part).each(&block)
      end

      def ping(driver) = driver.exec("").clear.nil?

      def answer?(error) = error.is_a?(::PG::Error) && @driver && @driver.status == ::PG::CONNECTION_OK && !@driver.busy?

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
      def break_off(driver) = driver.busy? && driver.break_off(CANCEL_TIMEOUT)
    end
  end
end
