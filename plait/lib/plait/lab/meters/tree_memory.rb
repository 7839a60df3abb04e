# frozen_string_literal: true

require_relative "../../values/deadline"

module Plait
  module Lab
    module Meters
      # The peak of several processes' memory together, looked at from outside: the proportional share (PSS) of the
      # lab's own process, of the trial's and of all that this one started. Pages that a fork shares are counted once,
      # and the sum does not grow by merely sharing them with one process more.
      class TreeMemory
        # A look costs the kernel a walk over the page tables: 0.5 ms for each process of 25 MB. It may take this share
        # of a processor.
        DUTY = 0.02
        # Seconds until the first look, so that short runs are seen as well.
        FIRST_PAUSE = 0.02
        # Looks: with fewer, a peak between two of them is missed more often than not, and "0 B" is what is left.
        ENOUGH = 3

        # @return [Boolean]
        def self.supported? = File.readable?("/proc/self/smaps_rollup")

        # @return [Integer] how often it was looked at
        attr_reader :samples

        # @param pid [Integer] of the trial's process
        # @return [void]
        def start(pid)
          @pid = pid
          @samples = 0
          @base = @peak = look
          @due = Deadline.now + FIRST_PAUSE
        end

        # Looks, if it is time to.
        # @return [void]
        def sample
          return if Deadline.now < @due

          @peak = [@peak, look].max
          @samples += 1
        end

        # @return [Float] seconds until the next look
        def pause = [@due - Deadline.now, 0.001].max

        # @return [Hash] peak in bytes above the base, and peak_source; both nil when the run was too short for ENOUGH looks
        def figures
          return { peak: nil, peak_source: nil } if @samples.nil? || @samples < ENOUGH

          { peak: @peak - @base, peak_source: :sampled_processes }
        end

        private

        def look
          began = own_time
          total = [Process.pid, @pid, *descendants(@pid)].sum { |pid| proportional_share(pid) }
          @due = Deadline.now + ((own_time - began) / DUTY)
          total
        end

        def own_time = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)

        def descendants(pid)
          children = Dir.glob("/proc/#{pid}/task/*/children").flat_map { |path| read(path).split.map(&:to_i) }
          children + children.flat_map { |child| descendants(child) }
        end

        def proportional_share(pid) = read("/proc/#{pid}/smaps_rollup")[/^Pss:\s*(\d+) kB$/, 1].to_i * 1024

        # Processes end while they are looked at.
        def read(path)
          File.read(path)
        rescue SystemCallError
          ""
        end
      end
    end
  end
end
