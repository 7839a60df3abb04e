# frozen_string_literal: true

require_relative "../../harness/meter"
require_relative "overload"
require_relative "rows"

module Bench
  module Databases
    # Statements that take long: whether others wait for them, and what they hold.
    class Streams
      ROWS = "SELECT a.id, a.name FROM #{Rows::TABLE} a, #{Rows::TABLE} b WHERE b.id <= %d".freeze
      private_constant :ROWS

      # @param trial [Harness::Trial] with the size `copies` of the table, or `statements`
      # @param driver [String] the scheme of a URL
      # @param kind [Symbol] :threads or :fibers
      def initialize(trial, driver, kind)
        require "plait/db"
        @trial = trial
        @driver = driver
        @kind = kind
      end

      def stream
        database(1) do |db|
          GC.start
          @base = @most = Harness::Processes.resident
          @longest = rows = 0
          start = Harness::Meter.wall
          beside_a_sleeper { db.stream(format(ROWS, @trial[:copies])) { rows += 1 } }
          @trial.report(operations: rows, wall: Harness::Meter.wall - start, result: rows,
                        figures: { "growth_mb" => (@most - @base) / 1e6, "longest_stall_ms" => @longest * 1e3 })
        end
      end

      def prepared
        count = @trial[:statements]
        database(count) do |db|
          statement = db.prepare(format(Overload::PAUSES.fetch(@driver), 0.1))
          all = ->(_ = nil) { Plait.map(1..count, on: @kind) { statement.call.size }.sum }
          all.call # each connection prepares it
          @trial.measure(operations: count, &all)
        end
      end

      private

      def database(size)
        Plait::DB.connect(BareDrivers.url(@driver) || "sqlite::memory:", size: size) do |db|
          Rows::FILL.fetch(@driver, []).each { |words| db.query(*words) }
          yield db
        end
      end

      def beside_a_sleeper(&block)
        Plait.run(on: @kind) do |scope|
          sleeper = scope.async { loop { look } }
          scope.async(&block).value
          sleeper.cancel
        end
      end

      def look
        due = Harness::Meter.wall + 0.001
        sleep(0.001)
        @longest = [@longest, Harness::Meter.wall - due].max
        @most = [@most, Harness::Processes.resident].max
      end
    end
  end
end
