# frozen_string_literal: true

module Plait
  module Lab
    module Meters
      # Collections, the time they took, and objects allocated, all of this process alone. Where the Ruby does not count
      # one of them (JRuby), it is nil.
      class Garbage
        MILLISECONDS = 1000.0

        def start
          @before = read
        end

        # @return [Hash] gc_runs, gc_time in seconds, objects
        def stop
          read.to_h { |name, after| [name, after && @before[name] && (after - @before[name])] }
        end

        private

        def read
          milliseconds = figure(:time)
          { gc_runs: GC.count, gc_time: milliseconds && (milliseconds / MILLISECONDS),
            objects: figure(:total_allocated_objects) }
        end

        def figure(key)
          GC.stat(key)
        rescue ArgumentError, TypeError
          nil
        end
      end
    end
  end
end
