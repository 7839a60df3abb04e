# frozen_string_literal: true

require_relative "../quantity"
require_relative "../table"
require_relative "kind"

module Plait
  module Lab
    module Plots
      # How much memory each row took at its height.
      class PeakMemory < Kind
        TITLE = "Peak memory"
        CAPTION = "The most memory that was held at once, above what the process held when it was forked. RSS is the " \
                  "resident memory of one process, as the kernel kept it. PSS is the sum of all processes of the row, " \
                  "shared pages counted once, looked at now and then: compare it with PSS alone. Less is better."
        METERS = { resident: "RSS", sampled_processes: "PSS" }.freeze

        private

        def figure(row) = row.peak

        def drawing
          divisor, unit = unit_for(shown.map { |row| row.peak.max }, BYTES)
          values = shown.map { |row| value(row, divisor) }
          spec(CAPTION, values, height: { step: STEP }, layer: bars(unit, values),
                                encoding: { y: by_label, tooltip: tips(label: "", shown: "median", n: "n") })
        end

        def value(row, divisor)
          sizes = %i[median min max].to_h { |part| [part, row.peak.public_send(part) / divisor.to_f] }
          record(row, **sizes, n: row.peak.n, shown: "#{Quantity.bytes(row.peak.median)} #{METERS.fetch(row.peak_source)}")
        end

        def sizes(peak) = [peak.median, peak.min, peak.max].map { |size| Quantity.bytes(size) }

        def table
          rows = shown.map { |row| [name(row), METERS.fetch(row.peak_source), *sizes(row.peak)] }
          Table.new(TITLE, ["", "meter", "median", "least", "most"], rows)
        end
      end
    end
  end
end
