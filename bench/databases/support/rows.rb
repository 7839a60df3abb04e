# frozen_string_literal: true

require_relative "bare_drivers"

module Bench
  module Databases
    # Rows by their keys, one query after another on one connection.
    class Rows
      TABLE = "plait_lab_people"
      # SQLite has no server that is filled for the bench.
      FILL = ["CREATE TABLE #{TABLE} (id INTEGER PRIMARY KEY, name VARCHAR(20))",
              "INSERT INTO #{TABLE} WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 30000) " \
              "SELECT n, 'name' || n FROM c"].freeze
      private_constant :TABLE, :FILL

      # @param trial [Harness::Trial] with the sizes `times` and `rows`
      # @param driver [String] the scheme of a URL
      def initialize(trial, driver)
        @trial = trial
        @driver = driver
        @fill = BareDrivers.url(driver) ? [] : FILL
      end

      def plait
        require "plait/db"
        Plait::DB.connect(BareDrivers.url(@driver) || "sqlite::memory:", size: 1) do |db|
          @fill.each { |sql| db.query(sql) }
          measure { |sql| db.query(sql).map { |row| row["name"] } }
        end
      end

      def bare
        connection = BareDrivers.connect(@driver)
        @fill.each { |sql| BareDrivers.values(@driver, connection, sql) }
        measure { |sql| BareDrivers.values(@driver, connection, sql) }
      end

      private

      def measure
        @trial.measure(operations: @trial[:times]) do |count|
          count.times.sum { |n| yield("SELECT name FROM #{TABLE} WHERE id BETWEEN #{n + 1} AND #{n + @trial[:rows]}").size }
        end
      end
    end
  end
end
