# frozen_string_literal: true

require_relative "../allocations"

module Plait
  module Lab
    module Meters
      # What a block allocates in this process, and what of it is still alive after a full collection, as the
      # memory_profiler gem counts it. The collector rests meanwhile, so the block must be small.
      module Allocations
        STRING = "String"
        # How deep the stack is overwritten after the block: what its calls have left there would count as retained,
        # since the collector takes every word on the stack for a reference (24 objects of a scheduler became 5).
        DEPTH = 300
        ONE = [nil].freeze

        module_function

        # @return [String, nil] why it can't be counted here
        def unavailable
          return "#{RUBY_ENGINE} has no allocation tracing" unless RUBY_ENGINE == "ruby"

          require "memory_profiler"
          nil
        rescue LoadError
          "the gem memory_profiler is not installed"
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
  end
end
