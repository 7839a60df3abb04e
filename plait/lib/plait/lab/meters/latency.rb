# frozen_string_literal: true

module Plait
  module Lab
    module Meters
      # How long each item took, from its start to its end.
      module Latency
        # Of more items than this, evenly spaced ones of the sorted times are kept: percentiles stay what they are.
        KEPT = 10_000

        module_function

        # @param outcomes [Array<Outcome>]
        # @return [Array<Float>] seconds, ascending
        def of(outcomes)
          times = outcomes.filter_map(&:duration).sort!
          return times if times.size <= KEPT

          Array.new(KEPT) { |place| times[place * (times.size - 1) / (KEPT - 1)] }
        end
      end
    end
  end
end
