# frozen_string_literal: true

module Plait
  module Lab
    module Meters
      # What each worker did when, small enough to be drawn.
      module Timeline
        # Workers that are kept, evenly spaced, and bars of all of them together.
        LANES = 32
        BARS = 800

        # - `bars` Arrays of lane (from 0), start, finish (seconds since the run began), and how many items it shows
        # - `lanes` how many workers are kept, of `workers`
        # - `items_per_bar` how many consecutive items of a worker were joined to one bar
        Record = Struct.new(:bars, :lanes, :workers, :items_per_bar, keyword_init: true) do
          # @return [Boolean] it does not show every item by itself
          def thinned? = lanes < workers || items_per_bar > 1
        end

        module_function

        # @param outcomes [Array<Outcome>]
        # @param began [Float] monotonic seconds
        # @return [Record]
        def of(outcomes, began)
          lanes = lanes_of(outcomes.select(&:duration))
          kept = evenly(lanes, LANES)
          joined = [(kept.map(&:size).max.to_i * kept.size).fdiv(BARS).ceil, 1].max
          bars = kept.each_with_index.flat_map { |lane, number| bars_of(lane, number, began, joined) }
          Record.new(bars: bars, lanes: kept.size, workers: lanes.size, items_per_bar: joined)
        end

        def lanes_of(outcomes)
          by_worker = outcomes.group_by(&:worker).sort_by { |worker, _| worker.to_s.rjust(20) }
          by_worker.map { |_, lane| lane.sort_by(&:started_at) }
        end

        def evenly(lanes, count)
          return lanes if lanes.size <= count

          Array.new(count) { |place| lanes[place * (lanes.size - 1) / (count - 1)] }
        end

        def bars_of(lane, number, began, joined)
          lane.each_slice(joined).map do |outcomes|
            finish = outcomes.map(&:finished_at).max
            [number, (outcomes.first.started_at - began).round(6), (finish - began).round(6), outcomes.size]
          end
        end
      end
    end
  end
end
