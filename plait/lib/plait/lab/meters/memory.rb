# frozen_string_literal: true

module Plait
  module Lab
    module Meters
      # The peak of this process's resident memory above what it held at the start, as the kernel kept it (VmHWM).
      class Memory
        STATUS = "/proc/self/status"
        # Writing 5 there makes the kernel forget the peak so far. Where that is not allowed, what the process has done
        # since it was forked counts as well, which is little.
        CLEAR = "/proc/self/clear_refs"

        class << self
          # @return [Integer, nil] bytes; nil where there is no /proc
          def resident = read("VmRSS")

          # @return [Integer, nil] bytes, since {forget_peak}
          def peak = read("VmHWM")

          # @return [void]
          def forget_peak
            File.write(CLEAR, "5")
          rescue SystemCallError
            nil
          end

          private

          def read(field)
            kilobytes = File.read(STATUS)[/^#{field}:\s*(\d+) kB$/, 1]
            kilobytes && (kilobytes.to_i * 1024)
          rescue SystemCallError
            nil
          end
        end

        def start
          Memory.forget_peak
          @base = Memory.resident
        end

        # @return [Hash] peak in bytes and peak_source; both nil where there is no /proc
        def stop
          highest = Memory.peak
          return { peak: nil, peak_source: nil } unless highest && @base

          { peak: [highest - @base, 0].max, peak_source: :resident }
        end
      end
    end
  end
end
