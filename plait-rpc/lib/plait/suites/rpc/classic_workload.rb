# frozen_string_literal: true

require_relative "transfer"
require "plait/lab"
require "plait/suites/common/suite"

module Plait
  module Suites
    class Rpc < Suite
      # The rows of all sizes as tables: a line for each way, a column for each size.
      class ClassicTables
        # @param sizes [Hash{String => Integer}] megabytes of each group
        # @param ways [Hash{Lab::Cell => String}] what the row of a cell is called, whatever its size
        # @param local [String] the way that all are held against
        def initialize(rows, sizes, ways, local)
          @sizes = sizes.select { |group, _| rows.any? { |row| row.group == group } }
          @rows = rows.group_by { |row| ways.fetch(row.cell) }
          @local = local
        end

        # @return [Array<Lab::Table>]
        def all
          [table("seconds") { |row| Lab::Quantity.seconds(seconds(row)) },
           table("MBps (1,048,576 bytes in a second)", average: "average") { |row| rate(row) },
           table("standard deviation of the seconds") { |row| deviation(row) },
           table("MBps, relative to #{@local}", average: "average") { |row| ratio(row) }]
        end

        private

        def table(title, average: nil, &figure)
          columns = ["", *@sizes.keys, *average]
          lines = @rows.keys.map { |way| [way, *cells(way, &figure), *(shown(average(way, &figure)) if average)] }
          Lab::Table.new(title, columns, lines)
        end

        def cells(way, &figure)
          @sizes.each_key.map { |group| shown(row(way, group)&.then(&figure)) }
        end

        def shown(figure) = figure.is_a?(Numeric) ? Lab::Quantity.number(figure) : figure || Lab::Quantity::UNKNOWN

        def average(way, &figure)
          figures = @sizes.each_key.filter_map { |group| row(way, group)&.then(&figure) }
          figures.sum / figures.size if figures.any?
        end

        def row(way, group) = @rows[way].find { |row| row.group == group && row.measured? }

        # Each trial moves it several times, where it is small.
        def seconds(row) = row.wall.median / times(row)

        def times(row) = row.cell.items.sum { |_, count| count }.fdiv(@sizes.fetch(row.group) * Blocks::PER_MEGABYTE)

        def rate(row) = @sizes.fetch(row.group) / seconds(row)

        def deviation(row)
          row.n > 1 ? Lab::Quantity.seconds(row.wall.deviation / times(row)) : Lab::Quantity::UNKNOWN
        end

        def ratio(row)
          local = row(@local, row.group)
          seconds(local) / seconds(row) if local
        end
      end

      # A workload whose report is the classic one: see {ClassicTables}.
      class ClassicWorkload < Lab::Workload
        # @param sizes [Hash{String => Integer}] megabytes of each group
        # @param ways [Hash{Lab::Cell => String}]
        def initialize(sizes:, ways:, local:, **options)
          super(**options)
          @sizes = sizes
          @ways = ways
          @local = local
        end

        def tables(rows) = ClassicTables.new(rows, @sizes, @ways, @local).all
      end
    end
  end
end
