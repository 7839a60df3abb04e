# frozen_string_literal: true

require_relative "../../plait/lib/plait/process_figures"

module Bench
  module Harness
    # The kernel's figures of a process: `resident`, `peak`, `share`, `cpu` … of this one, or of another one by its number.
    Processes = Plait.const_get(:ProcessFigures)

    # The clocks of this process.
    module Meter
      module_function

      # @return [Float] monotonic seconds
      def wall = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      # @return [Float] CPU seconds of this process alone, in user and system mode
      def cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)

      # @return [Float] CPU seconds of this process and of the children it has waited for
      def cpu_with_children = cpu + Process.times.then { |times| times.cutime + times.cstime }
    end
  end
end
