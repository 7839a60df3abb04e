# frozen_string_literal: true

module Bench
  module Harness
    # Reads the clocks and the memory of this process, or of another one.
    module Meter
      module_function

      # @return [Float] monotonic seconds
      def wall = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      # @return [Float] CPU seconds of this process alone, in user and system mode
      def cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)

      # @return [Float] CPU seconds of this process and of the children it has waited for
      def cpu_with_children = cpu + Process.times.then { |times| times.cutime + times.cstime }

      # Proportional, so that pages shared with other processes are not counted twice.
      # @return [Integer, nil] bytes resident now; nil where the kernel does not tell
      def resident
        kilobytes("/proc/self/smaps_rollup", "Pss")
      end

      # @param pid [Integer]
      # @return [Float] CPU seconds of another process, by the number that clock_getcpuclockid(3) gives
      def cpu_of(pid) = Process.clock_gettime((~pid << 3) | 2)

      # @return [Integer, nil] bytes, the most that was resident since {reset_peak}
      def peak(pid = "self") = kilobytes("/proc/#{pid}/status", "VmHWM")

      # @return [Integer, nil] bytes resident now, counted as {peak} counts
      def resident_unshared(pid = "self") = kilobytes("/proc/#{pid}/status", "VmRSS")

      # 5 is what resets the peak (Linux 4.0).
      def reset_peak(pid = "self")
        File.write("/proc/#{pid}/clear_refs", "5")
      rescue SystemCallError
        nil
      end

      def kilobytes(file, field)
        File.foreach(file) { |line| return line[/\d+/].to_i * 1024 if line.start_with?("#{field}:") }
        nil
      rescue SystemCallError
        nil
      end
    end
  end
end
