# frozen_string_literal: true

require "plait/suites/common/suite"
require "plait/lab"

module Plait
  module Suites
    class Shard < Suite
      # A workload whose report is that of the comparison: for each task a table of the time, and of the memory of the process on
      # the way before, at the peak, and after.
      class Experiment < Lab::Workload
        COLUMNS = ["", "time", "min – max", "n", "commands/s", "MB/s", "CPU", "memory before", "peak", "1 s after"].freeze
        private_constant :COLUMNS

        # @param direct [Array<Lab::Cell>] those without a proxy
        # @param against [Array<String>] two endings of names: ways with the second are held against those with the first
        def initialize(direct:, against: nil, **options)
          super(**options)
          @direct = direct
          @against = against
        end

        # @param rows [Array<Lab::Row>]
        # @return [Array<Lab::Table>]
        def tables(rows)
          measured(rows).map { |group, some| Lab::Table.new("#{title}: #{group}", COLUMNS, some.map { |row| line(row) }) }
        end

        # @param rows [Array<Lab::Row>]
        # @return [Array<String>] which way takes least time in each table, and which needs least memory
        def verdict(rows)
          measured(rows).flat_map do |group, some|
            ways = some.reject { |row| @direct.include?(row.cell) }
            ways.empty? ? [] : [sentence(group, ways), *comparison(group, ways)]
          end
        end

        private

        def measured(rows) = rows.select(&:measured?).group_by(&:group)

        def sentence(group, ways)
          quick = ways.sort_by { |row| row.wall.median }
          small = ways.sort_by { |row| row.peak.median }
          "#{group}: #{best(quick, :wall, "takes", "take")} least time, #{quantity.seconds(quick.first.wall.median)}; " \
            "#{best(small, :peak, "grows", "grow")} least, by #{quantity.bytes(small.first.peak.median)}#{hint(ways)}."
        end

        # Rows that can't be told apart are named together.
        def best(ranked, figure, one, many)
          leaders = Lab::Statistics.leaders(ranked, &figure)
          "#{leaders.map { |row| name_of(row) }.join(", ")} #{leaders.one? ? one : many}"
        end

        def hint(rows) = rows.any? { |row| row.n == 1 } ? " (one round: a hint)" : ""

        def comparison(group, ways)
          return unless @against && (ratio = Lab::Statistics.of(ratios(ways.to_h { |row| [name_of(row), row.wall.median] })))

          few, many = @against.map { |ending| ending.delete_prefix(", ") }
          "#{group}: the same way takes #{quantity.times(ratio.median)} the time with #{many} as with #{few}, in the median."
        end

        # @param seconds [Hash{String => Float}] by name
        # @return [Array<Float>]
        def ratios(seconds)
          few, many = @against
          pairs = seconds.select { |name, _| name.end_with?(few) }.map { |name, time| [time, seconds[name.sub(few, many)]] }
          pairs.filter_map { |one, other| other && (other / one) }
        end

        def line(row)
          wall = row.wall
          [name_of(row), quantity.seconds(wall.median), spread(wall), wall.n.to_s, quantity.number(row.rate.median),
           quantity.number(megabytes(row) / wall.median), quantity.seconds(row.cpu.median), *memory(row)]
        end

        def spread(wall)
          wall.n > 1 ? "#{quantity.seconds(wall.min)} – #{quantity.seconds(wall.max)}" : quantity::UNKNOWN
        end

        def memory(row)
          [quantity.bytes(row.own("before_bytes").median), "+#{quantity.bytes(row.peak.median)}",
           format("%+.1f MB", row.own("after_bytes").median / 1e6)]
        end

        def megabytes(row) = row.cell.items.sum(&:bytes) / 1e6

        def name_of(row) = row.label.delete_suffix(", #{row.group}")

        def quantity = Lab::Quantity
      end
    end
  end
end
