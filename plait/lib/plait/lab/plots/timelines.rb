# frozen_string_literal: true

require_relative "../../values/quantity"
require_relative "../table"
require_relative "kind"

module Plait
  module Lab
    module Plots
      # When each worker was busy: one drawing for each row; rows of the same work have the same scale.
      class Timelines < Kind
        CAPTION = "One line for each worker, a bar where it was busy with an item, in the round nearest to the " \
                  "median; neighbouring items differ in shade."
        SLOT = 9
        HEIGHTS = (28..200)
        # Rows that are drawn at most; raising it makes a longer page.
        MOST = 24
        # The whole drawing has one description: a screen reader would read one for each of a thousand bars.
        BAR = { type: "bar", aria: false, minBandSize: 1 }.freeze
        private_constant :SLOT, :HEIGHTS, :BAR

        def plots
          return [] if drawn.empty?

          drawings = drawn.to_h { |row| [label(row), drawing(row, timeline(row))] }
          [Plot.new(title: "Timeline", caption: "#{CAPTION}#{omitted}", drawings: drawings, table: table)]
        end

        private

        def known = @known ||= @rows.select { |row| timeline(row)&.bars&.any? }

        def drawn = known.first(MOST)

        def omitted = known.size > MOST ? " The first #{MOST} of #{known.size} rows are drawn." : ""

        def timeline(row) = row.typical.timeline

        def label(row)
          parts = [name(row)]
          found = timeline(row)
          parts << "#{found.slots} of #{found.workers} workers are drawn" if found.slots < found.workers
          parts << "a bar stands for up to #{found.items_per_bar} items in a row" if found.items_per_bar > 1
          parts.join("; ")
        end

        def drawing(row, timeline)
          height = (timeline.slots * SLOT).clamp(HEIGHTS.min, HEIGHTS.max)
          spec("Timeline of #{label(row)}", values(row, timeline), height: height, mark: BAR, encoding: encoding(row))
        end

        def encoding(row)
          scale = { domain: [0, horizon(row)], nice: false }
          { y: { field: "worker", type: "ordinal", title: nil, axis: nil, scale: { paddingInner: 0.2 } },
            x: { field: "start", type: "quantitative", title: "seconds", scale: scale },
            x2: { field: "finish" }, color: by_colour, opacity: shade,
            tooltip: tips(worker: "worker", start: "start", finish: "finish", items: "items") }
        end

        def shade = { field: "shade", type: "nominal", scale: { domain: [0, 1], range: [1, 0.62] }, legend: nil }

        def horizon(row)
          same = drawn.select { |other| other.group == row.group }
          same.flat_map { |other| timeline(other).bars.map { |_, _, finish, _| finish } }.max
        end

        def values(row, timeline)
          timeline.bars.group_by(&:first).flat_map do |worker, bars|
            bars.each_with_index.map do |(_, start, finish, items), place|
              { mechanism: row.cell.mechanism_name, worker: worker, start: start, finish: finish, items: items,
                shade: place % 2 }
            end
          end
        end

        def table
          rows = drawn.map { |row| [label(row), *summary(timeline(row).bars, timeline(row).slots)] }
          Table.new("Timeline", ["", "items", "busy", "first start", "last end"], rows)
        end

        def summary(bars, slots)
          last = bars.map { |bar| bar[2] }.max
          busy = bars.sum { |_, start, finish, _| finish - start }
          [bars.sum(&:last).to_s, last.zero? ? Quantity::UNKNOWN : Quantity.percent(busy / (last * slots)),
           Quantity.seconds(bars.map { |bar| bar[1] }.min), Quantity.seconds(last)]
        end
      end
    end
  end
end
