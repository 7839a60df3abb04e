# frozen_string_literal: true

require_relative "agreement"
require_relative "fresh_process"
require_relative "measurement"
require_relative "meters"

module Plait
  module Lab
    # Measures one cell once, in a fresh process.
    class Trial
      # The clock is started last and stopped first: it must not measure the other meters.
      METERS = [Meters::Gvl, Meters::Garbage, Meters::Cpu].freeze
      NO_PEAK = { peak: nil, peak_source: nil }.freeze

      # @param warmup [Integer] passes before the one that counts
      # @param bound [Numeric] seconds after which it counts as hung
      def initialize(cell, warmup: 1, bound: 120.0)
        @cell = cell
        @warmup = warmup
        @bound = bound
      end

      # @return [Measurement] with its `failure` set when the body raises, or its process dies or hangs
      # @raise [FreshProcess::ForkRefused] when the system gives no process
      def run
        measurement = process.call { |ready| measure(ready) }
        sampler&.figures&.each { |name, value| measurement[name] = value }
        measurement
      rescue FreshProcess::Failed => e
        Measurement.failed(@cell.label, e.message, e.kind)
      end

      private

      def process = (FreshProcess.supported? ? FreshProcess : InProcess).new(bound: @bound, sampler: sampler)

      def sampler
        @sampler ||= Meters::TreeMemory.new if @cell.processes? && FreshProcess.supported? && Meters::TreeMemory.supported?
      end

      def measure(ready)
        ready.call
        memory = Meters::Memory.new.tap(&:start)
        @cell.warm_up(@warmup)
        GC.start
        outcomes, began, figures = metered { @cell.run }
        figures.merge!(peak(memory))
        figures[:gvl_wait] = nil if @cell.processes? # this process alone was looked at
        Measurement.new(label: @cell.label, engine: RUBY_ENGINE, items: @cell.items.size, **figures, **described(outcomes, began))
      end

      # This process's own peak says little when others do the work, or when what ran before has left its heap.
      def peak(memory) = @cell.processes? || !FreshProcess.supported? ? NO_PEAK : memory.stop

      def metered
        meters = METERS.map(&:new)
        meters.each(&:start)
        began = Deadline.now
        outcomes = yield
        [outcomes, began, meters.reverse.map(&:stop).reduce(:merge)]
      end

      def described(outcomes, began)
        failed = outcomes.select(&:error)
        { latencies: Meters::Latency.of(outcomes), timeline: Meters::Timeline.of(outcomes, began),
          errors: failed.size, first_error: failed.first&.then { |one| "item #{one.index}: #{Text.of_error(one.error)}" },
          results: ResultDigest.new(outcomes, @cell.digest) }
      end
    end

    # Counts what a cell allocates, in a fresh process and apart from the timed trials: tracing each object slows a run
    # down several times.
    class MemoryPass
      ITEMS = 50
      # Seconds that the items may take, going by the timed trial.
      SECONDS = 2.0
      # Objects that may be alive at once, since the collector rests; above this for a single item the pass is left out.
      OBJECTS = 200_000
      OBJECTS_OF_ONE = 2_000_000
      # Ruby 3.1.2 dies of it (SEGV in rb_wb_unprotected_newobj_of), and prints its crash report each time.
      RACTORS = "allocations could not be counted: tracing them crashes Ruby when several ractors run"
      ELSEWHERE = "counted in the process that hands out the work; what its workers allocate is not counted"

      # @param measurement [Measurement] of a timed trial of the cell: says how many items are few enough
      # @param bound [Numeric] seconds
      def initialize(cell, measurement, warmup: 1, bound: 120.0)
        @cell = cell
        @measurement = measurement
        @warmup = warmup
        @bound = bound
      end

      # @return [Allocations, String] the figures, or why there are none
      def run
        unavailable || FreshProcess.new(bound: @bound).call { |ready| count(ready) }
      rescue FreshProcess::Failed => e
        "allocations could not be counted: #{e.message}"
      end

      def items = @items ||= @cell.memory_items || @cell.items.first([ITEMS, by_time, by_objects].min.clamp(1, ITEMS))

      private

      def unavailable
        return "allocations are counted in a fresh process, and there is no fork here" unless FreshProcess.supported?
        return RACTORS if @cell.mechanisms.include?(:ractors)
        return "one item allocates too many objects to trace them" if objects_per_item > OBJECTS_OF_ONE

        Meters::Allocations.unavailable&.then { |why| "allocations could not be counted: #{why}" }
      end

      def count(ready)
        @cell.warm_up(@warmup)
        ready.call
        Meters::Allocations.count(items.size, scope: scope) { @cell.run(items) }
      end

      def scope = @cell.processes? ? ELSEWHERE : nil

      def by_time = (SECONDS / (@measurement.wall / @measurement.items)).floor

      def by_objects = (OBJECTS / [objects_per_item, 1].max).floor

      def objects_per_item = @measurement.objects.to_f / @measurement.items
    end

    private_constant :Trial, :MemoryPass
  end
end
