# frozen_string_literal: true

require "plait/suites/common/suite"
require "plait/lab"

module Plait
  module Suites
    class Databases < Suite
      # What the process of a server tells of itself.
      module Figures
        PATH = "/figures"

        module_function

        # Asked twice, before and after; the peak of memory is that since the last time.
        # @param database [DB::Database, nil] whose pool is asked too
        # @return [Hash{Symbol => Numeric, nil}]
        def now(database = nil)
          { cpu: Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID), gc_runs: GC.count, gc_time: gc_time, **memory,
            waits: database&.statistics&.fetch(:waits, nil), waited: database&.statistics&.fetch(:waited, nil) }
        end

        # @return [Hash{Symbol => Integer, nil}] bytes; nil where the kernel does not say
        def memory
          { resident: Lab::Meters::Memory.resident, peak: Lab::Meters::Memory.peak }.tap { Lab::Meters::Memory.forget_peak }
        end

        # @return [Float] seconds
        def gc_time = GC.respond_to?(:total_time) ? GC.total_time / 1e9 : GC.stat.fetch(:time, 0) / 1e3
      end
    end
  end
end
