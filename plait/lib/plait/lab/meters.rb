# frozen_string_literal: true

require_relative "../process_figures"
require_relative "measurement"

module Plait
  module Lab
    # Readings of the clocks, the collector and the kernel while a trial runs.
    module Meters
      # Time on the clock, and time of the processors: this process's, and that of the children it has waited for.
      class Cpu
        def start
          @delay = ProcessFigures.delay
          @children = children
          @own = own
          @wall = Deadline.now
        end

        # @return [Hash] seconds: wall, cpu, and delay (nil where it is unknown)
        def stop
          wall = Deadline.now - @wall
          { wall: wall, cpu: own - @own + children - @children, delay: @delay && (ProcessFigures.delay - @delay) }
        end

        private

        # JRuby has no clock for this.
        def own = Process.times.then { |times| times.utime + times.stime }

        def children = Process.times.then { |times| times.cutime + times.cstime }
      end

      # Seconds that the threads of this process have waited for the GVL, all together. Ruby 3.1 has no hook for it, and JRuby no
      # GVL: there it is unknown.
      class Gvl
        def self.supported? = defined?(NativeGVL) ? true : false

        def start
          return unless Gvl.supported?

          NativeGVL.start
          @before = NativeGVL.waited
        end

        # Counts from now on, where it was started.
        def restart = @before &&= NativeGVL.waited

        # @return [Float, nil] since it was started
        def seconds = @before && (NativeGVL.waited - @before)

        # @return [Hash] gvl_wait in seconds
        def stop
          { gvl_wait: seconds }
        ensure
          NativeGVL.stop if @before
          @before = nil
        end
      end

      # Collections, the time they took, and objects allocated, all of this process alone. Where the Ruby does not count
      # one of them (JRuby), it is nil.
      class Garbage
        MILLISECONDS = 1000.0

        def start = @before = read

        # @return [Hash] gc_runs, gc_time in seconds, objects
        def stop = read.to_h { |name, after| [name, after && @before[name] && (after - @before[name])] }

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

      # The peak of this process's resident memory above what it held at the start, as the kernel kept it. Where the peak can't be
      # forgotten, what the process has done since it was forked counts as well, which is little.
      class Memory
        def start
          ProcessFigures.forget_peak
          @base = ProcessFigures.resident
        end

        # @return [Hash] peak in bytes and peak_source; both nil where there is no /proc
        def stop
          highest = ProcessFigures.peak
          return { peak: nil, peak_source: nil } unless highest && @base

          { peak: [highest - @base, 0].max, peak_source: :resident }
        end
      end

      # The peak of several processes' memory together, looked at from outside: the proportional share (PSS) of the
      # lab's own process, of the trial's and of all that this one started. Pages that a fork shares are counted once,
      # and the sum does not grow by merely sharing them with one process more.
      class TreeMemory
        # Share of a processor that looks may take. A look costs the kernel a walk over the page tables: 0.5 ms for each
        # process of 25 MB.
        DUTY = 0.02
        # Seconds until the first look, so that short runs are seen as well.
        FIRST_PAUSE = 0.02

        # Looks: with fewer, most peaks between two looks are missed; raising it leaves out more short runs.
        ENOUGH = 3

        def self.supported? = File.readable?("/proc/self/smaps_rollup")

        # @return [Integer] how often it was looked at
        attr_reader :samples

        # @param pid [Integer] of the trial's process
        def start(pid)
          @pid = pid
          @samples = 0
          @base = @peak = look
          @due = Deadline.now + FIRST_PAUSE
        end

        # Looks, if it is time to.
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
          total = [Process.pid, @pid, *ProcessFigures.descendants(@pid)].sum { |pid| ProcessFigures.share(pid).to_i }
          @due = Deadline.now + ((own_time - began) / DUTY)
          total
        end

        def own_time = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
      end

      # Counts the allocations of a block in this process, and the objects still alive after a full collection, by the gem
      # memory_profiler. The collector is off meanwhile, so the block must be small.
      module Allocations
        STRING = "String"
        # Calls: how deep the stack is overwritten after the block. References that its calls left there would count as retained,
        # since the collector takes every word on the stack for a reference (24 objects of a scheduler became 5).
        DEPTH = 300
        ONE = [nil].freeze

        module_function

        # @return [String, nil] why it can't be counted here
        def unavailable
          return "#{RUBY_ENGINE} has no allocation tracing" unless RUBY_ENGINE == "ruby"

          require "memory_profiler"
          nil
        rescue LoadError
          "the gem memory_profiler is not installed; to add it: " \
          "#{defined?(Bundler) ? "bundle add" : "gem install"} memory_profiler"
        end

        # @param items [Integer] how many the block runs: the figures are divided by it
        # @return [Allocations] per item
        def count(items, scope: nil, &block)
          totals = totals(MemoryProfiler.report { emptied(&block) })
          Lab::Allocations.new(items: items, scope: scope, **totals.transform_values { |total| total.fdiv(items) })
        end

        def emptied
          yield
          overwrite_stack(DEPTH)
          nil
        end

        # Through a method in C, for its stack to be overwritten as well.
        def overwrite_stack(depth) = (ONE.each { overwrite_stack(depth - 1) } if depth.positive?)

        def totals(report)
          { bytes: report.total_allocated_memsize, objects: report.total_allocated,
            strings: strings(report.allocated_objects_by_class),
            retained_bytes: report.total_retained_memsize, retained_objects: report.total_retained,
            retained_strings: strings(report.retained_objects_by_class) }
        end

        def strings(by_class) = by_class.find { |entry| entry[:data] == STRING }&.fetch(:count) || 0
      end
    end

    private_constant :Meters
  end
end
