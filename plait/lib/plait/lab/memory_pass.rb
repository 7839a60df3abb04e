# frozen_string_literal: true

require_relative "fresh_process"
require_relative "meters/allocations"
require_relative "run"
require_relative "warm_up"

module Plait
  module Lab
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

      # @param cell [Cell]
      # @param measurement [Measurement] of a timed trial of the cell: says how many items are few enough
      # @param warmup [Integer]
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

      # @return [Array]
      def items
        @items ||= @cell.memory_items || @cell.items.first([ITEMS, by_time, by_objects].min.clamp(1, ITEMS))
      end

      private

      def unavailable
        return "allocations are counted in a fresh process, and there is no fork here" unless FreshProcess.supported?
        return RACTORS if @cell.mechanisms.include?(:ractors)
        return "one item allocates too many objects to trace them" if objects_per_item > OBJECTS_OF_ONE

        Meters::Allocations.unavailable&.then { |why| "allocations could not be counted: #{why}" }
      end

      def count(ready)
        WarmUp.new(@cell, @warmup).call
        run = Run.new(@cell, items)
        ready.call
        Meters::Allocations.count(items.size, scope: scope) { run.call }
      end

      def scope = @cell.processes? ? ELSEWHERE : nil

      def by_time = (SECONDS / (@measurement.wall / @measurement.items)).floor

      def by_objects = (OBJECTS / [objects_per_item, 1].max).floor

      def objects_per_item = @measurement.objects.to_f / @measurement.items
    end
  end
end
