# frozen_string_literal: true

require_relative "../values/quantity"
require_relative "plots/kind"
require_relative "plots/timelines"
require_relative "table"

module Plait
  module Lab
    # The drawings of one report.
    module Plots
      # The spread of the times of single items.
      class Latency < Kind
        TITLE = "Time of one item"
        CAPTION = "Time of one item, from its start to its end, all rounds together: half of the items took no " \
                  "longer than the median, 90 and 99 of a hundred no longer than these marks. Further left is better."
        PERCENTILES = { "median" => 50, "90 %" => 90, "99 %" => 99, "longest" => 100 }.freeze
        SHADES = %w[threads fibers ractors sequence].freeze
        # From this ratio of the longest to the shortest on, small ones would be invisible on an even scale.
        WIDE = 30
        private_constant :PERCENTILES, :SHADES, :WIDE

        private

        def figure(row) = row.latencies

        def drawing = spec(CAPTION, values, height: { step: STEP }, encoding: { y: by_label }, layer: [range, marks])

        def range
          { mark: { type: "rule", color: "currentColor", opacity: 0.4 },
            transform: [{ filter: "datum.mark === 'median'" }],
            encoding: { x: across, x2: { field: "longest" } } }
        end

        def marks
          kinds = { field: "mark", type: "nominal", title: nil, scale: { domain: PERCENTILES.keys },
                    legend: { orient: "bottom" } }
          colours = kinds.merge(scale: { domain: PERCENTILES.keys, range: COLOURS.values_at(*SHADES) })
          { mark: { type: "point", filled: true, size: 70, opacity: 1 },
            encoding: { x: across, color: colours, shape: kinds, tooltip: tips(label: "", mark: "", shown: "time") } }
        end

        def across
          { field: "time", type: "quantitative", title: unit.last, scale: wide? ? { type: "log" } : { zero: true },
            axis: wide? ? { format: "~g", labelOverlap: true } : {} }
        end

        def unit = @unit_of_time ||= unit_for(shown.map { |row| row.latencies.max }, SECONDS)

        def wide?
          return @wide if defined?(@wide)

          least, most = shown.map { |row| row.latencies.median }.min, shown.map { |row| row.latencies.max }.max
          @wide = least.positive? && most / least > WIDE
        end

        def values
          shown.flat_map do |row|
            PERCENTILES.filter_map do |mark, percent|
              time = row.latencies.percentile(percent) or next
              record(row, mark: mark, time: time / unit.first, longest: row.latencies.max / unit.first,
                          shown: Quantity.seconds(time))
            end
          end
        end

        def table
          rows = shown.map do |row|
            [name(row), *PERCENTILES.values.map { |percent| Quantity.seconds(row.latencies.percentile(percent)) }]
          end
          Table.new(TITLE, ["", *PERCENTILES.keys], rows)
        end
      end

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

        def spread = { mark: { type: "rule", strokeWidth: 1.5 }, encoding: { y: up("min"), y2: { field: "max" } } }

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

      KINDS = [Time, Throughput, Latency, PeakMemory, Allocations, Timelines].freeze

      module_function

      # @return [Array<Plot>] the plots that have figures; none of a group whose results differ
      def of(report)
        rows = report.rows.select { |row| row.measured? && report.agreed?(row.group) }
        return [] if rows.empty?

        KINDS.flat_map { |kind| kind.new(rows, report.workload.unit).plots }
      end
    end

    private_constant :Plots
  end
end
