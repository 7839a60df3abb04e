# frozen_string_literal: true

require_relative "../quantity"
require_relative "../table"
require_relative "kind"

module Plait
  module Lab
    module Plots
      # How the times of single items spread.
      class Latency < Kind
        TITLE = "Time of one item"
        CAPTION = "Time of one item, from its start to its end, all rounds together: half of the items took no " \
                  "longer than the median, 90 and 99 of a hundred no longer than those marks. Further left is better."
        PERCENTILES = { "median" => 50, "90 %" => 90, "99 %" => 99, "longest" => 100 }.freeze
        SHADES = %w[threads fibers ractors sequence].freeze
        # From this ratio of the longest to the shortest on, small ones would be invisible on an even scale.
        WIDE = 30

        private

        def figure(row) = row.latencies

        def drawing
          spec(CAPTION, values, height: { step: STEP }, encoding: { y: by_label }, layer: [range, marks])
        end

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
            PERCENTILES.map do |mark, percent|
              time = row.latencies.percentile(percent)
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
    end
  end
end
