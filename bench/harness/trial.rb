# frozen_string_literal: true

require "json"
require_relative "meter"

module Bench
  module Harness
    # What a contestant's body is given: the sizes, the clocks, and where to report. Lives in the contestant's own
    # process.
    class Trial
      # @return [Hash{Symbol => Object}, nil] what was reported
      attr_reader :sample

      # @param sizes [Hash{Symbol => Object}]
      def initialize(sizes)
        @sizes = sizes
      end

      # @param name [Symbol]
      # @return [Object] the size of that name
      def [](name) = @sizes.fetch(name)

      # Runs the block with a few operations, so that everything is loaded; then once more with all of them, and reports
      # wall time, CPU time (children included) and the peak of memory over what was resident before.
      # @param operations [Integer] how many the times are divided by
      # @param warm_up [Integer] how many are done beforehand
      # @param figures [Proc, nil] called afterwards, for figures counted by the contestant itself
      # @yieldparam count [Integer] operations to be done
      # @yieldreturn [Object] the result
      def measure(operations:, warm_up: 2, figures: nil)
        yield(warm_up)
        settle
        base = Processes.resident
        wall = Meter.wall
        cpu = Meter.cpu_with_children
        result = yield(operations)
        report(operations: operations, cpu: Meter.cpu_with_children - cpu, wall: Meter.wall - wall,
               memory: base && (Processes.peak - base), result: result, figures: figures&.call || {})
      end

      # Reports what the contestant measured itself.
      # @param operations [Integer]
      # @param result [Object] compared with the others' as JSON
      # @param wall [Float, nil] seconds
      # @param cpu [Float, nil] seconds
      # @param memory [Integer, nil] bytes over the base, for all operations
      # @param figures [Hash{String => Numeric}] see {Metric.figure}
      def report(operations:, result:, wall: nil, cpu: nil, memory: nil, figures: {})
        @sample = { operations: operations, wall: wall, cpu: cpu, memory: memory, result: result, figures: figures }
      end

      # Prints what was reported and ends the process, at once: unwinding ten thousand fibers or threads is no part of a
      # bench. Only a contestant that can't return by itself calls it.
      # @raise [RuntimeError] where nothing was reported
      def finish
        raise "the contestant reported nothing" unless sample

        $stdout.write(JSON.generate(sample), "\n")
        $stdout.flush
        exit!(0)
      end

      private

      # The garbage of loading is not the contestant's.
      def settle
        GC.start
        Processes.forget_peak
      end
    end
  end
end
