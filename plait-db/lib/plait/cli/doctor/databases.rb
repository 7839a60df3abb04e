# frozen_string_literal: true

require "plait/cli/doctor/examiner"
require "plait/cli/doctor/optional_gems"

module Plait
  module CLI
    class Doctor < Command
      # The drivers of databases: whether they are installed, and how they wait in fibers.
      class Databases < Examiner
        # The calls of each driver in fibers, as measured: ten calls of 0.1 s at once in fibers ÷ the same on threads, and the
        # longest time for which another fiber was kept from running meanwhile. (A large result: ten of 10,000 rows. SQLite
        # computes instead of waiting.) The test of the same name measures it.
        module Matrix
          WAYS = {
            ruby: "waits in Ruby, as fibers can", thread: "waits on a thread of the offload pool",
            own: "waits on a thread of its own", turns: "computes, and lets other fibers run",
            whole: "is read whole before its first row"
          }.freeze
          # Limits of a driver that fits fibers.
          RATIO = 1.3
          STALL = 15

          # @!attribute driver [String]
          # @!attribute gem [String]
          # @!attribute call [String]
          # @!attribute way [Symbol] of {WAYS}
          # @!attribute ratio [Float] to threads
          # @!attribute stall [Float] milliseconds
          Row = Struct.new(:driver, :gem, :call, :way, :ratio, :stall) do
            # @return [Boolean] whether fibers lose nothing by it
            def good? = ratio <= RATIO && stall <= STALL

            def to_s
              format("%s; the project measured %.2f × threads, others wait %.1f ms at most", WAYS.fetch(way), ratio, stall)
            end
          end

          ROWS = [
            ["trilogy", "trilogy", "query", :ruby, 1.0, 0.1],
            ["trilogy", "trilogy", "prepared", :ruby, 1.01, 0.2],
            ["trilogy", "trilogy", "transaction", :ruby, 0.99, 0.5],
            ["trilogy", "trilogy", "large result", :whole, 3.64, 24.8],
            ["trilogy", "trilogy", "connect", :own, 0.99, 1.2],
            ["mysql2", "mysql2", "query", :ruby, 1.0, 0.5],
            ["mysql2", "mysql2", "prepared", :thread, 1.01, 0.6],
            ["mysql2", "mysql2", "transaction", :ruby, 1.01, 0.5],
            ["mysql2", "mysql2", "large result", :thread, 1.01, 6.1],
            ["mysql2", "mysql2", "connect", :own, 0.98, 1.6],
            ["postgres", "pg", "query", :ruby, 0.96, 2.1],
            ["postgres", "pg", "prepared", :ruby, 0.99, 0.1],
            ["postgres", "pg", "transaction", :ruby, 0.94, 0.2],
            ["postgres", "pg", "large result", :ruby, 0.73, 6.3],
            ["postgres", "pg", "connect", :own, 1.0, 2.3],
            ["sqlite", "sqlite3", "query", :turns, 1.13, 21.3],
            ["sqlite", "sqlite3", "prepared", :turns, 0.93, 28.3],
            ["sqlite", "sqlite3", "transaction", :turns, 0.89, 19.9],
            ["sqlite", "sqlite3", "large result", :turns, 1.09, 33.2],
            ["redis", "redis-client", "query", :ruby, 1.0, 3.9],
            ["redis", "redis-client", "large result", :ruby, 0.92, 7.9],
            ["redis", "redis-client", "connect", :ruby, 1.01, 3.8],
            ["mongo", "mongo", "query", :ruby, 0.98, 2.8],
            ["mongo", "mongo", "large result", :ruby, 0.96, 23.8],
            ["mongo", "mongo", "connect", :ruby, 1.03, 5.0]
          ].map { |values| Row.new(*values).freeze }.freeze
        end

        def checks
          Matrix::ROWS.group_by(&:driver).flat_map do |driver, rows|
            [presence(driver, rows.first.gem), *rows.map { |row| outcome(driver, row) }]
          end
        end

        private

        def presence(driver, gem)
          version = OptionalGems.version(gem)
          return Check.new(group: driver, name: "gem", status: :ok, value: version, text: "#{gem} #{version}") if version

          Check.new(group: driver, name: "gem", status: :missing, text: "#{gem} is not installed", hint: "gem install #{gem}")
        end

        def outcome(driver, row)
          Check.new(group: driver, name: row.call, status: row.good? ? :ok : :limited, value: row.ratio, text: row.to_s)
        end
      end
    end
  end
end
