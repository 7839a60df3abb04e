# frozen_string_literal: true

require_relative "../plot"
require_relative "../quantity"
require_relative "../table"
require_relative "kind"

module Plait
  module Lab
    module Plots
      # How much each row allocates.
      class Allocations < Kind
        CAPTION = "Bytes that Ruby allocated for one item, what starting the mechanism takes shared among the items. " \
                  "With processes, only what the process that hands out the work allocates. Less is better."

        def plots
          return [] if counted.empty?

          [Plot.new(title: "Allocated per item", caption: CAPTION, drawings: { "" => drawing }, table: table)]
        end

        private

        def counted = @counted ||= @rows.select(&:allocations)

        def drawing
          divisor, unit = unit_for(counted.map { |row| row.allocations.bytes }, BYTES)
          values = counted.map { |row| value(row.allocations, row, divisor) }
          spec(CAPTION, values, height: { step: STEP }, layer: bars(unit, values),
                                encoding: { y: by_label(counted),
                                            tooltip: tips(label: "", shown: "bytes", objects: "objects",
                                                          items: "items counted") })
        end

        def value(allocations, row, divisor)
          size = allocations.bytes / divisor
          record(row, median: size, min: size, max: size, shown: Quantity.bytes(allocations.bytes),
                      objects: Quantity.number(allocations.objects), items: allocations.items)
        end

        def table
          rows = counted.map do |row|
            [name(row), Quantity.bytes(row.allocations.bytes), Quantity.number(row.allocations.objects),
             row.allocations.items.to_s]
          end
          Table.new("Allocated per item", ["", "bytes", "objects", "items counted"], rows)
        end
      end
    end
  end
end
