# frozen_string_literal: true

module Plait
  module Lab
    # The figures of one trial of one cell. Plain values only: it travels through a pipe.
    #
    # - `label` of its cell, `engine` of the Ruby that ran it
    # - `items` how many were run
    # - `wall`, `cpu` in seconds; cpu includes the processes that the run started and waited for
    # - `delay` seconds in which the main thread could have run and no processor was free for it
    # - `gvl_wait` seconds that all threads of the process together have waited for the GVL, nil where it is unknown
    # - `gc_runs`, `gc_time` (seconds) in the process that ran the mechanism
    # - `objects` allocated there
    # - `latencies` in seconds, ascending; thinned to at most {Meters::Latency::KEPT}
    # - `timeline` a {Meters::Timeline::Record}
    # - `peak` bytes above what the process held when it was forked, nil where it is unknown; `peak_source` :resident
    #   (as the kernel kept it) or :sampled_processes (the sum of several, looked at now and then)
    # - `errors` how many items failed, `first_error` the first of them as a sentence
    # - `own` what only this workload measures: a Hash of numbers by name, or nil
    # - `results` a {ResultDigest}
    # - `failure` why there are no figures, as a sentence; `failure_kind` :failed, :unsupported, :hung or :died
    Measurement = Struct.new(:label, :engine, :items, :wall, :cpu, :delay, :gvl_wait, :gc_runs, :gc_time, :objects, :latencies,
                             :timeline, :peak, :peak_source, :own, :errors, :first_error, :results, :failure,
                             :failure_kind,
                             keyword_init: true) do
      # @return [Measurement] one without figures
      def self.failed(label, failure, kind = :failed) = new(label: label, failure: failure, failure_kind: kind)

      # @return [Boolean] it has figures
      def ok? = failure.nil?

      # @return [Boolean] this machine, Ruby or mechanism can't run the cell; nothing went wrong
      def unsupported? = failure_kind == :unsupported

      # @return [Float, nil] items per second; nil of none that the clock saw
      def rate = wall.zero? ? nil : items / wall

      # @return [Float] seconds of processor time per item
      def cpu_per_item = cpu / items
    end

    # The counts of a memory pass, per item. The objects that start the mechanism are divided among the items, too.
    #
    # - `items` how many were run to count it
    # - `bytes`, `objects`, `strings` allocated per item
    # - `retained_bytes`, `retained_objects`, `retained_strings` still alive after a full collection, per item
    # - `scope` a sentence when something was not counted, nil when everything was
    Allocations = Struct.new(:items, :bytes, :objects, :strings, :retained_bytes, :retained_objects, :retained_strings,
                             :scope, keyword_init: true)

    # @api private
    module Meters
      # The time of each item, from its start to its end.
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

      # The work of each worker over time, small enough to be drawn.
      # @api private
      module Timeline
        # Workers that are kept, evenly spaced, and bars of all of them together.
        SLOTS = 8
        BARS = 160

        # - `bars` Arrays of slot (from 0), start, finish (seconds since the run began), and how many items it shows
        # - `slots` how many workers are kept, of `workers`
        # - `items_per_bar` how many consecutive items of a worker were joined to one bar
        Record = Struct.new(:bars, :slots, :workers, :items_per_bar, keyword_init: true)

        module_function

        # @param outcomes [Array<Outcome>]
        # @param began [Float] monotonic seconds
        # @return [Record]
        def of(outcomes, began)
          slots = workers_of(outcomes.select(&:duration))
          kept = evenly(slots, SLOTS)
          joined = [(kept.map(&:size).max.to_i * kept.size).fdiv(BARS).ceil, 1].max
          bars = kept.each_with_index.flat_map { |slot, number| bars_of(slot, number, began, joined) }
          Record.new(bars: bars, slots: kept.size, workers: slots.size, items_per_bar: joined)
        end

        def workers_of(outcomes)
          by_worker = outcomes.group_by(&:worker).sort_by { |worker, _| worker.to_s.rjust(20) }
          by_worker.map { |_, slot| slot.sort_by(&:started_at) }
        end

        def evenly(slots, count)
          return slots if slots.size <= count

          Array.new(count) { |place| slots[place * (slots.size - 1) / (count - 1)] }
        end

        def bars_of(slot, number, began, joined)
          slot.each_slice(joined).map do |outcomes|
            finish = outcomes.map(&:finished_at).max
            [number, (outcomes.first.started_at - began).round(6), (finish - began).round(6), outcomes.size]
          end
        end
      end
    end
  end
end
