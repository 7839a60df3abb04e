# frozen_string_literal: true

require_relative "../quantity"
require_relative "../table"
require_relative "kind"

module Plait
  module Lab
    module Plots
      # How long each row took.
      class Time < Kind
        TITLE = "Time"
        CAPTION = "Time for all items: the bar ends at the median of the rounds, the line goes from the shortest to " \
                  "the longest. Shorter is better."
        TIPS = { label: "", shown: "median", least: "min", most: "max", n: "n" }.freeze

        private

        def figure(row) = row.wall

        def drawing
          divisor, unit = unit_for(shown.map { |row| row.wall.max }, SECONDS)
          values = shown.map { |row| value(row, divisor) }
          spec(CAPTION, values, height: { step: STEP }, layer: bars(unit, values),
                                encoding: { y: by_label, tooltip: tips(**TIPS) })
        end

        def value(row, divisor)
          wall = row.wall
          times = %i[median min max].to_h { |part| [part, wall.public_send(part) / divisor] }
          record(row, **times, n: wall.n, **words(wall))
        end

        def words(wall)
          { shown: wall.median, least: wall.min, most: wall.max }.transform_values { |time| Quantity.seconds(time) }
        end

        def table
          rows = shown.map { |row| [name(row), *words(row.wall).values_at(:shown, :least, :most)] }
          Table.new(TITLE, ["", "median", "shortest", "longest"], rows)
        end
      end
    end
  end
end
