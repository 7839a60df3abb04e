# frozen_string_literal: true

require_relative "../plot"
require_relative "../quantity"
require_relative "../table"
require_relative "kind"

module Plait
  module Lab
    module Plots
      # Items per second against the limit, where rows differ in nothing else.
      class Throughput < Kind
        def plots
          return [] unless points.group_by { |row| series(row) }.any? { |_, rows| rows.size > 1 }

          [Plot.new(title: "Throughput against the limit", caption: caption, drawings: { "" => drawing }, table: table)]
        end

        private

        def caption
          "#{@unit.capitalize} per second (median, and min to max) at each limit of what may be in flight. Where a " \
            "line turns flat, a higher limit no longer helps."
        end

        def points = @points ||= @rows.select { |row| limit(row) }.sort_by { |row| limit(row) }

        # One after another is a limit of one; a composition may have as many in flight as the product says.
        def limit(row) = row.on == :sequence ? 1 : row.limit && Array(row.limit).reduce(:*)

        def series(row) = row.group ? "#{row.group}: #{row.cell.series}" : row.cell.series

        def drawing
          spec(caption, points.map { |row| value(row) }, height: 260, encoding: { x: across, color: colour },
                                                         layer: [line, spread])
        end

        def value(row)
          record(row, **row.rate.to_h, limit: limit(row), series: series(row), shown: Quantity.number(row.rate.median))
        end

        def across
          { field: "limit", type: "quantitative", title: "limit", scale: { type: "log", base: 2, nice: false },
            axis: { values: points.map { |row| limit(row) }.uniq, format: "d" } }
        end

        def line
          { mark: { type: "line", point: { filled: true, size: 60 } },
            encoding: { y: up("median"), shape: by_series, tooltip: tips(label: "", shown: "#{@unit}/s", n: "n") } }
        end

        def spread
          { mark: { type: "rule", strokeWidth: 1.5 }, encoding: { y: up("min"), y2: { field: "max" } } }
        end

        def up(field) = { field: field, type: "quantitative", title: "#{@unit} per second", scale: { zero: true } }

        def by_series
          { field: "series", type: "nominal", title: nil, scale: { domain: lines.keys }, legend: { orient: "bottom" } }
        end

        def colour = by_series.merge(scale: { domain: lines.keys, range: lines.values })

        # The first line of a mechanism has its colour, further ones have others.
        def lines
          @lines ||= points.group_by { |row| row.cell.mechanism_name }.flat_map do |name, rows|
            rows.map { |row| series(row) }.uniq.zip([colour_of(name)]).map { |line, own| [line, own || others.next] }
          end.to_h
        end

        def table
          rows = points.map do |row|
            rates = [row.rate.median, row.rate.min, row.rate.max].map { |rate| Quantity.number(rate) }
            [series(row), limit(row).to_s, *rates]
          end
          Table.new("Throughput", ["", "limit", "#{@unit}/s, median", "min", "max"], rows)
        end
      end
    end
  end
end
