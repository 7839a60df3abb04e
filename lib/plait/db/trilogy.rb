# frozen_string_literal: true

require_relative "aside"
require_relative "database"
require_relative "driver"
require_relative "mysql"
require_relative "result"
require_relative "session"

Plait::DB::Driver.load("trilogy", "~> 2.8") { require "trilogy" }

module Plait
  module DB
    # MySQL and MariaDB by trilogy, which waits in Ruby: nothing blocks the loop. It knows no prepared statements: values are
    # put into the text, escaped by the driver. It reads a result whole, also in {Database#stream}.
    class Trilogy < Session
      include Mysql

      # @return [Database]
      def self.open(address, options) = Database.new(self, address, options)

      private

      def connect(**haste)
        about = { username: @address.user, password: @address.password, database: @address.database,
                  connect_timeout: 10, **@options, **haste }.compact
        return ::Trilogy.new(about) if about[:socket]

        about = { host: @address.host || "127.0.0.1", port: @address.port || 3306 }.merge(about)
        return ::Trilogy.new(about) if about[:ssl] || about[:ssl_mode] # a certificate is for a name

        addresses = Aside.addresses(about[:host], about[:port])
        Aside.first(addresses) { |name| ::Trilogy.new(about.merge(host: name)) }
      end

      # A procedure answers with several results. One that nobody reads would be the next caller's.
      def ask(driver, sql, values)
        found = driver.query(fill(driver, sql, values))
        driver.next_result while driver.more_results_exist?
        Result.new(found.fields, found.rows, affected: found.affected_rows, last_id: found.last_insert_id)
      end

      def ask_prepared(driver, sql, values) = ask(driver, sql, values)

      def each_row(driver, sql, values)
        result = ask(driver, sql, values)
        result.rows.each_slice(Aside::ROWS) do |rows|
          Aside.breathe
          rows.each { |row| yield Result.row(result.columns, row) }
        end
      end

      def ping(driver) = driver.ping

      def answer?(error) = error.is_a?(::Trilogy::BaseError) && !error.is_a?(::Trilogy::ConnectionError)

      def idle?(driver) = !driver.closed? && !driver.in_transaction?

      def rolled_back?(error) = error.is_a?(::Trilogy::BaseError) && deadlock?(error.error_code)

      # The driver has read the number in the server's greeting, and keeps it to itself.
      def identify(driver) = @id = ask(driver, "SELECT CONNECTION_ID()", []).value

      def break_off(_driver) = kill(@id)

      def forget(driver) = driver.discard!
    end
  end
end
