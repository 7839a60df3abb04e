# frozen_string_literal: true

require_relative "fresh_process"
require_relative "measurement"

module Plait
  module Lab
    module Meters
      # Counts the allocations of a block in this process, and the objects still alive after a full collection, by the gem
      # memory_profiler. The collector is off meanwhile, so the block must be small.
      module Allocations
        STRING = "String"
        # Calls: how deep the stack is overwritten after the block. References that its calls left there would count as retained,
        # since the collector takes every word on the stack for a reference (24 objects of a scheduler became 5).
        DEPTH = 300
        ONE = [nil].freeze
        private_constant :STRING, :DEPTH, :ONE

        module_function

        # @return [String, nil] why it can't be counted here
        def unavailable
          return "#{RUBY_ENGINE} has no allocation tracing" unless RUBY_ENGINE == "ruby"

          require "memory_profiler"
          nil
        rescue LoadError
          "the gem memory_profiler is not installed; to add it: " \
          "#{defined?(Bundler) ? "bundle add" : "gem install"} memory_profiler"
        end

        # @param items [Integer] how many the block runs: the figures are divided by it
        # @return [Allocations] per item
        def count(items, scope: nil, &block)
          totals = totals(MemoryProfiler.report { emptied(&block) })
          Lab::Allocations.new(items: items, scope: scope, **totals.transform_values { |total| total.fdiv(items) })
        end

        def emptied
          yield
          overwrite_stack(DEPTH)
          nil
        end

        # Through a method in C, for its stack to be overwritten as well.
        def overwrite_stack(depth)
          ONE.each { overwrite_stack(depth - 1) } if depth.positive?
        end

        def totals(report)
          { bytes: report.total_allocated_memsize, objects: report.total_allocated,
            strings: strings(report.allocated_objects_by_class),
            retained_bytes: report.total_retained_memsize, retained_objects: report.total_retained,
            retained_strings: strings(report.retained_objects_by_class) }
        end

        def strings(by_class) = by_class.find { |entry| entry[:data] == STRING }&.fetch(:count) || 0
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
      private_constant :ITEMS, :OBJECTS_OF_ONE, :RACTORS, :ELSEWHERE

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
        @cell.warm_up(@warmup)
        ready.call
        Meters::Allocations.count(items.size, scope: scope) { @cell.run(items) }
      end

      def scope = @cell.processes? ? ELSEWHERE : nil

      def by_time = (SECONDS / (@measurement.wall / @measurement.items)).floor

      def by_objects = (OBJECTS / [objects_per_item, 1].max).floor

      def objects_per_item = @measurement.objects.to_f / @measurement.items
    end

    private_constant :MemoryPass
  end
end
