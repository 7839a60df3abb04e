# frozen_string_literal: true

require "plait/suites/common/suite"
require "plait/lab"

module Plait
  module Suites
    class Databases < Suite
      # A workload whose report is that of the classic experiment: for each number of connections a table as `ab` prints it,
      # and what it has cost.
      class Experiment < Lab::Workload
        PERCENT = [50, 66, 75, 80, 90, 95, 98, 99, 100].freeze
        COLUMNS = ["", "requests/s", "failed", *PERCENT.map { |percent| "#{percent} %, ms" }, "CPU µs/request", "peak MB",
                   "kB/connection", "GC runs", "GC ms", "waits for the pool"].freeze
        UNKNOWN = Lab::Quantity::UNKNOWN
        private_constant :COLUMNS, :UNKNOWN

        # @param lines [Hash{Lab::Cell => Line}]
        def initialize(lines:, **options)
          super(**options)
          @lines = lines
        end

        # @param rows [Array<Lab::Row>]
        # @return [Array<Lab::Table>]
        def tables(rows)
          rows.select(&:measured?).group_by { |row| @lines.fetch(row.cell).table }.map do |title, some|
            Lab::Table.new(title, COLUMNS, some.map { |row| line(row) })
          end
        end

        # @param rows [Array<Lab::Row>]
        # @return [Array<String>] which lines answer most in each table, and whether the pool limits the first of them
        def verdict(rows)
          rows.select(&:measured?).group_by { |row| @lines.fetch(row.cell).table }.map do |title, some|
            best = some.sort_by { |row| -row.rate.median }
            "#{title}: #{leaders(best)} most, #{number(best.first.rate.median)} requests/s#{limit(best.first)}#{hint(some)}."
          end
        end

        private

        # Rows that can't be told apart are named together.
        def leaders(ranked)
          names = Lab::Statistics.leaders(ranked, &:rate).map { |row| @lines.fetch(row.cell).name }
          "#{names.join(", ")} #{names.one? ? "answers" : "answer"}"
        end

        def hint(rows) = rows.any? { |row| row.n == 1 } ? " (one round: a hint)" : ""

        def line(row)
          report, figures = latest(row)
          [@lines.fetch(row.cell).name, number(row.rate.median), row.errors.to_s,
           *PERCENT.map { |percent| number(report.percentiles.fetch(percent)) }, *costs(row), figures[:waits]&.to_s || UNKNOWN]
        end

        def costs(row)
          [number(row.cpu_per_item.median * 1e6), row.peak ? number(row.peak.median / 1e6) : UNKNOWN, growth(row),
           number(row.gc_runs.median), number(row.gc_time.median * 1e3)]
        end

        # What each connection has added to what the server was before them.
        def growth(row)
          peak, resident = latest(row).last.values_at(:peak, :resident)
          return UNKNOWN unless peak && resident

          number([peak - resident, 0].max / 1e3 / @lines.fetch(row.cell).connections)
        end

        # Most requests had to wait for a connection: more of these, not another mechanism, would answer more.
        def limit(row)
          report, figures = latest(row)
          return "" if figures[:waits].nil? || figures[:waits] < report.complete

          "; the pool is the limit, not the mechanism"
        end

        def latest(row) = [row.cell.runner.reports.last, row.cell.runner.figures.last]

        def number(value) = Lab::Quantity.number(value)
      end
    end
  end
end
