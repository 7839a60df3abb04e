# frozen_string_literal: true

require_relative "../../values/deadline"

module Plait
  module Lab
    module Meters
      # Time on the clock, and time of the processors: this process's, and that of the children it has waited for.
      class Cpu
        # Nanoseconds on a processor, nanoseconds in which the main thread could have run and none was free, and turns.
        SCHEDSTAT = "/proc/self/schedstat"

        def start
          @delay = delay
          @children = children
          @own = own
          @wall = Deadline.now
        end

        # @return [Hash] seconds: wall, cpu, and delay (nil where it can't be told)
        def stop
          wall = Deadline.now - @wall
          { wall: wall, cpu: own - @own + children - @children, delay: @delay && (delay - @delay) }
        end

        private

        # JRuby has no clock for this.
        def own = Process.times.then { |times| times.utime + times.stime }

        def children = Process.times.then { |times| times.cutime + times.cstime }

        def delay
          File.read(SCHEDSTAT).split[1].to_i / 1e9
        rescue SystemCallError
          nil
        end
      end
    end
  end
end
