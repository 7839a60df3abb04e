# frozen_string_literal: true

require_relative "../../values/quantity"
require_relative "../table"

module Plait
  module Lab
    # A figure as data.
    #
    # - `title`, and `caption`: what it shows and how to read it, in words
    # - `drawings` a Hash of Vega-Lite specifications, each under the label that it needs when there are several
    # - `table` the same figures as a {Table}, for readers without the drawings
    Plot = Struct.new(:title, :caption, :drawings, :table, keyword_init: true)
    private_constant :Plot

    module Plots
      # The common part of all kinds of drawings. A kind of a single drawing has a TITLE and a CAPTION, and says what it
      # shows of a row (`figure`), as a drawing and as a table.
      class Kind
        # One colour for a mechanism in every drawing; readers with the usual kinds of colour blindness tell them apart, on
        # white and on black.
        COLOURS = { "sequence" => "#8a8a8a", "threads" => "#3b8fd6", "fibers" => "#e0822c", "hybrid" => "#a57fd1",
                    "processes" => "#2ca089", "ractors" => "#d05c8e" }.freeze
        OTHERS = %w[#b09a2e #6c7fc4 #a8604a #5f9e3d].freeze
        STEP = 26
        ROOM = 1.22
        SECONDS = [[1, "seconds"], [1e-3, "milliseconds"], [1e-6, "microseconds"]].freeze
        BYTES = [[1e9, "gigabytes"], [1e6, "megabytes"], [1e3, "kilobytes"], [1, "bytes"]].freeze
        private_constant :COLOURS, :OTHERS, :STEP, :BYTES

        # @param rows [Array<Row>] measured ones
        # @param unit [String] what an item is, in the plural
        def initialize(rows, unit)
          @rows = rows
          @unit = unit
        end

        # @return [Array<Plot>] none where no row has what it shows
        def plots
          return [] if shown.empty?

          [Plot.new(title: self.class::TITLE, caption: self.class::CAPTION, drawings: { "" => drawing }, table: table)]
        end

        private

        # @return [Array<Row>] that have what it shows
        def shown = @shown ||= @rows.select { |row| figure(row) }

        # @return [Object, nil] nil where the row has none
        def figure(_row) = raise(NotImplementedError)

        # @return [Hash] a specification of Vega-Lite
        def drawing = raise(NotImplementedError)

        def table = raise(NotImplementedError)

        def spec(description, values, **parts)
          { description: description, width: "container", data: { values: values }, **parts }
        end

        # Labels in the order of the rows, not of the alphabet.
        def by_label = { field: "label", type: "nominal", title: nil, sort: shown.map { |row| name(row) } }

        def by_colour
          names = @rows.map { |row| row.cell.mechanism_name }.uniq
          colours = names.map { |name| colour_of(name) }
          { field: "mechanism", type: "nominal", scale: { domain: names, range: colours }, legend: nil }
        end

        def colour_of(mechanism)
          @colours ||= COLOURS.dup
          @colours[mechanism] ||= others.next
        end

        def others = @others ||= OTHERS.cycle

        # Two groups may have rows of the same name.
        def name(row) = row.group ? "#{row.group}: #{row.label}" : row.label

        def record(row, **figures) = { label: name(row), mechanism: row.cell.mechanism_name, **figures }

        def tips(**fields) = fields.map { |field, title| { field: field.to_s, title: title } }

        # The unit in which the largest of the values reads best.
        # @param units [Array<Array(Numeric, String)>] least value in the base unit and its name, in falling order
        # @return [Array(Float, String)] by what to divide, and the name
        def unit_for(values, units) = units.find { |least, _| values.max >= least } || units.last
      end

      # A bar for each row. A kind has its UNITS and TIPS, and says what else it knows of a row (`facts`).
      class Bars < Kind
        private

        def drawing
          divisor, unit = unit_for(shown.map { |row| spread(row).max }, self.class::UNITS)
          values = shown.map do |row|
            record(row, **%i[median min max].zip(spread(row).map { |value| value / divisor.to_f }).to_h, **facts(row))
          end
          spec(self.class::CAPTION, values, height: { step: STEP }, layer: bars(unit, values),
                                            encoding: { y: by_label, tooltip: tips(label: "", **self.class::TIPS) })
        end

        # @return [Array<Numeric>] the median, the least and the most
        def spread(row) = figure(row).then { |found| [found.median, found.min, found.max] }

        # Bars with a line from the least to the most, and the middle in words at its end, for which room is left.
        def bars(title, values)
          longest = values.map { |value| value[:max] }.max
          x = { field: "median", type: "quantitative", title: title, scale: { domain: [0, longest * ROOM], nice: false } }
          [{ mark: { type: "bar", cornerRadiusEnd: 2 }, encoding: { x: x, color: by_colour } },
           { mark: { type: "rule", strokeWidth: 1.5, color: "currentColor" },
             encoding: { x: { field: "min", type: "quantitative" }, x2: { field: "max" } } },
           { mark: { type: "text", align: "left", dx: 6, color: "currentColor" },
             encoding: { x: { field: "max", type: "quantitative" }, text: { field: "shown" } } }]
        end
      end

      # The time of each row.
      class Time < Bars
        TITLE = "Time"
        CAPTION = "Time for all items: the bar ends at the median of the rounds, the line goes from the shortest to " \
                  "the longest. Shorter is better."
        UNITS = SECONDS
        TIPS = { shown: "median", least: "min", most: "max", n: "n" }.freeze

        private

        def figure(row) = row.wall

        def facts(row) = { n: row.wall.n, **words(row.wall) }

        def words(wall)
          { shown: wall.median, least: wall.min, most: wall.max }.transform_values { |time| Quantity.seconds(time) }
        end

        def table
          rows = shown.map { |row| [name(row), *words(row.wall).values_at(:shown, :least, :most)] }
          Table.new(TITLE, ["", "median", "shortest", "longest"], rows)
        end
      end

      # The peak memory of each row.
      class PeakMemory < Bars
        TITLE = "Peak memory"
        CAPTION = "The most memory that was held at once, above what the process held when it was forked. RSS is the " \
                  "resident memory of one process, as the kernel kept it. PSS is the sum of all processes of the row, " \
                  "shared pages counted once, looked at now and then: compare it with PSS alone. Less is better."
        UNITS = BYTES
        TIPS = { shown: "median", n: "n" }.freeze
        METERS = { resident: "RSS", sampled_processes: "PSS" }.freeze
        private_constant :METERS

        private

        def figure(row) = row.peak

        def facts(row) = { n: row.peak.n, shown: "#{Quantity.bytes(row.peak.median)} #{METERS.fetch(row.peak_source)}" }

        def table
          rows = shown.map do |row|
            [name(row), METERS.fetch(row.peak_source), *spread(row).map { |size| Quantity.bytes(size) }]
          end
          Table.new(TITLE, ["", "meter", "median", "least", "most"], rows)
        end
      end

      # The allocations of each row.
      class Allocations < Bars
        TITLE = "Allocated per item"
        CAPTION = "Bytes that Ruby allocated for one item, what starting the mechanism takes shared among the items. " \
                  "With processes, only what the process that hands out the work allocates. Less is better."
        UNITS = BYTES
        TIPS = { shown: "bytes", objects: "objects", items: "items counted" }.freeze

        private

        def figure(row) = row.allocations

        def spread(row) = [row.allocations.bytes] * 3

        def facts(row)
          { shown: Quantity.bytes(row.allocations.bytes), objects: Quantity.number(row.allocations.objects),
            items: row.allocations.items }
        end

        def table
          rows = shown.map { |row| [name(row), *facts(row).values.map(&:to_s)] }
          Table.new(TITLE, ["", "bytes", "objects", "items counted"], rows)
        end
      end
    end
  end
end
