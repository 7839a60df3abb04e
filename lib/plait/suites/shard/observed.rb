# frozen_string_literal: true

require_relative "../suite"

module Plait
  module Suites
    class Shard < Suite
      # Another process, seen from outside: its time and its memory. Linux only, as the shard is.
      class Observed
        # @param pid [Integer]
        def initialize(pid)
          @pid = pid
        end

        # @return [Float] seconds of processor time, of all its threads that are alive
        def cpu = Dir["/proc/#{@pid}/task/*/schedstat"].sum { |file| Integer(File.read(file).split.first) } / 1e9

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
