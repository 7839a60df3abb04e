# frozen_string_literal: true

require_relative "../quantity"
require_relative "../table"
require_relative "kind"

module Plait
  module Lab
    module Plots
      # How much each row allocates.
      class Allocations < Kind
        TITLE = "Allocated per item"
        CAPTION = "Bytes that Ruby allocated for one item, what starting the mechanism takes shared among the items. " \
                  "With processes, only what the process that hands out the work allocates. Less is better."

        private

        def figure(row) = row.allocations

        def drawing
          divisor, unit = unit_for(shown.map { |row| row.allocations.bytes }, BYTES)
          values = shown.map { |row| value(row.allocations, row, divisor) }
          spec(CAPTION, values, height: { step: STEP }, layer: bars(unit, values),
                                encoding: { y: by_label,
                                            tooltip: tips(label: "", shown: "bytes", objects: "objects",
                                                          items: "items counted") })
        end

        def value(allocations, row, divisor)
          size = allocations.bytes / divisor
          record(row, median: size, min: size, max: size, shown: Quantity.bytes(allocations.bytes),
                      objects: Quantity.number(allocations.objects), items: allocations.items)
        end

        def table
          rows = shown.map do |row|
            [name(row), Quantity.bytes(row.allocations.bytes), Quantity.number(row.allocations.objects),
             row.allocations.items.to_s]
          end
          Table.new(TITLE, ["", "bytes", "objects", "items counted"], rows)
        end
      end
    end
  end
end
