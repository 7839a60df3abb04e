# frozen_string_literal: true

module Bench
  module HTTP
    # Counts what one more request allocates, in passes of their own that are not timed, with the garbage collector off:
    # then nothing is taken back behind the counters. Objects are `GC.stat(:total_allocated_objects)`; bytes are
    # `GC.stat(:malloc_increase_bytes)`, what Ruby's own malloc gave out less what was freed explicitly: memory that a
    # library in C allocates past Ruby is not in it (it is in the peak of resident memory).
    module Allocations
      COUNTERS = { "objects_per_request" => [:total_allocated_objects, 1.0],
                   "malloc_kb_per_request" => [:malloc_increase_bytes, 1e3] }.freeze

      module_function

      # Of two passes, so that what a client sets up once, the connections and the workers, is not in it.
      # @param few [Array] requests
      # @param many [Array] more requests
      # @yieldparam requests [Array] to be got
      # @return [Hash{String => Float}] figures of a trial
      def figures(few, many, &get)
        base = count(few, &get)
        all = count(many, &get)
        COUNTERS.to_h { |name, (_, unit)| [name, (all[name] - base[name]) / unit / (many.size - few.size)] }
      end

      def count(requests)
        GC.start
        GC.disable
        before = counters
        yield(requests)
        counters.to_h { |name, counter| [name, counter - before[name]] }
      ensure
        GC.enable
      end

      def counters = COUNTERS.transform_values { |counter, _| GC.stat(counter) }
      private_class_method :count, :counters
    end
  end
end
