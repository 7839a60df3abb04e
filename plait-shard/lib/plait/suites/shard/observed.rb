# frozen_string_literal: true

require "plait/suites/common/suite"

module Plait
  module Suites
    class Shard < Suite
      # Another process, seen from outside: its time and its memory. Linux only, as the shard is.
      class Observed
        # @param pid [Integer]
        def initialize(pid)
          @pid = pid
          @clock = (~pid << 3) | 2 # as clock_getcpuclockid(3) makes it
        end

        # @return [Float] seconds of processor time, of all its threads. Also of those that have ended, as Redis 8's do: without
        #   them it would go back.
        # @raise [SystemCallError] the process is gone
        def cpu = Process.clock_gettime(@clock)

        # @return [Integer] bytes that it holds
        def memory = read("VmRSS")

        # @return [Integer] bytes, at most since {#forget_peak}
        def peak = read("VmHWM")

        # Where that is not allowed, the peak is that since its start.
        # @return [void]
        def forget_peak
          File.write("/proc/#{@pid}/clear_refs", "5")
        rescue SystemCallError
          nil
        end

        private

        def read(field) = File.read("/proc/#{@pid}/status")[/^#{field}:\s*(\d+) kB$/, 1].to_i * 1024
      end
    end
  end
end
