# frozen_string_literal: true

require_relative "bare_drivers"

module Bench
  module Databases
    # Rows by their keys, or values of Redis, one query after another on one connection.
    class Rows
      TABLE = "plait_lab_people"
      COUNT = 30_000
      # What no server has yet.
      FILL = {
        "sqlite" => [["CREATE TABLE #{TABLE} (id INTEGER PRIMARY KEY, name VARCHAR(20))"],
                     ["INSERT INTO #{TABLE} WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT #{COUNT}) " \
                      "SELECT n, 'name' || n FROM c"]],
        "redis" => [["MSET", *(1..COUNT).flat_map { |number| ["name:#{number}", "name#{number}"] }]]
      }.freeze
      private_constant :COUNT

      # @param trial [Harness::Trial] with the sizes `times` and `rows`
      # @param driver [String] the scheme of a URL
      def initialize(trial, driver)
        @trial = trial
        @driver = driver
        @fill = FILL.fetch(driver, [])
      end

      def plait
        require "plait/db"
        Plait::DB.connect(BareDrivers.url(@driver) || "sqlite::memory:", size: 1) do |db|
          @fill.each { |words| db.query(*words) }
          measure { |*words| values(db.query(*words)) }
        end
      end

      def bare
        connection = BareDrivers.connect(@driver)
        @fill.each { |words| BareDrivers.values(@driver, connection, *words) }
        measure { |*words| BareDrivers.values(@driver, connection, *words) }
      end

      private

      def values(found) = @driver == "redis" ? [found] : found.map { |row| row["name"] }

      def measure = @trial.measure(operations: @trial[:times]) { |count| count.times.sum { |n| yield(*words(n + 1)).size } }

      def words(first)
        return ["GET", "name:#{first}"] if @driver == "redis"

        ["SELECT name FROM #{TABLE} WHERE id BETWEEN #{first} AND #{first + @trial[:rows] - 1}"]
      end
    end
  end
end
