# frozen_string_literal: true

require_relative "../../mechanisms/scheduler"
require_relative "../../process_figures"
require_relative "../fresh_process"

module Plait
  module Lab
    class Adviser
      # What one item does, in seconds.
      #
      # - `items` that were run, `wall` an item takes alone
      # - `held` computing with the GVL, `free` computing without it
      # - `waits` neither, `blocks` the part of it that keeps an event loop from turning
      # - `place` the line that does so, nil where nothing blocks
      Profile = Struct.new(:items, :wall, :held, :free, :waits, :blocks, :place, keyword_init: true) do
        # @return [Float] 0..1
        def share(part) = wall.positive? ? (self[part] / wall).clamp(0.0, 1.0) : 0.0

        # @return [Boolean] the item waits, or its time is too short to tell
        def waits? = share(:waits) > 0.05 && waits > 0.00005

        # @return [Boolean] a part of an item that concurrency can make shorter only by processors
        def computes? = share(:held) + share(:free) > 0.1
      end

      # Asks for the GVL (as a thread) or for its turn of the event loop (as a fiber) each millisecond. The time by which it
      # is late is the time in which a body kept what it asked for.
      class Metronome
        # Seconds between two beats; raising it sees less of short items.
        BEAT = 0.001
        # Seconds by which a beat is late on an idle machine.
        SLACK = 0.0003

        def initialize
          @late = 0.0
          @beats = @missed = 0
          @before = Deadline.now
        end

        # @return [void] when {stop} was called
        def run = (beat until @stopped)

        def stop = @stopped = true

        # Counts the beat that is under way, too.
        # @param wall [Float] seconds of the run
        # @return [Float] seconds of it in which what it asks for was taken; the pauses between beats count in proportion
        def late(wall)
          count(Deadline.now - @before - BEAT)
          [@late + (@missed.fdiv(@beats) * [wall - @late, 0].max), wall].min
        end

        private

        def beat
          sleep(BEAT)
          count(Deadline.now - @before - BEAT)
          @before = Deadline.now
        end

        def count(delay)
          @beats += 1
          return if delay < SLACK

          @missed += 1
          @late += delay
        end
      end

      # Runs items one after another in a fresh process, beside a {Metronome}.
      class Profiler
        # Share of the time from which a block of the loop counts. A busy machine makes beats late, too.
        LEAST = 0.2

        # @param seconds [Numeric] after which no further item starts
        # @param bound [Numeric] after which the run counts as hung
        def initialize(items, body, seconds:, bound:)
          @items = items
          @body = body
          @seconds = seconds
          @bound = bound
        end

        # @param again [Boolean] whether items may run a second time, to look for blocks of an event loop
        # @raise [FreshProcess::Failed]
        def call(again: true)
          profile = apart { beside_a_thread }
          look_for_blocks(profile) if again && profile.waits?
          profile
        end

        private

        def apart(&block)
          FreshProcess.new(bound: @bound).call do |ready|
            ready.call
            block.call
          end
        end

        def beside_a_thread
          metronome = Metronome.new
          thread = Thread.new { metronome.run }
          count, wall, cpu, delay = metered { run_in_time(@items) }
          held = (metronome.late(wall) - delay_of(thread)).clamp(0.0, cpu)
          Profile.new(items: count, wall: wall / count, held: held / count, free: (cpu - held) / count,
                      waits: [wall - cpu - delay, 0.0].max / count, blocks: 0.0)
        end

        def run_in_time(items)
          ends = Deadline.after(@seconds)
          items.each.with_index(1) do |item, count|
            @body.call(item)
            return count if ends.expired?
          end
          items.size
        end

        # @return [Array] the block's value; seconds on the clock, on a processor, and in which no processor was free
        def metered
          before = clocks
          value = yield
          [value, *clocks.zip(before).map { |after, earlier| after - earlier }]
        end

        def clocks = [Deadline.now, Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID), delay]

        def delay_of(thread) = delay("self/task/#{thread.native_thread_id}")

        def delay(thread = "thread-self") = ProcessFigures.delay(thread).to_f

        # A body that fails on fibers is excluded later, with its error.
        def look_for_blocks(profile)
          count, wall, cpu, delay, late, place = apart { Thread.new { on_a_loop }.value }
          blocked = count ? [late - cpu - delay, 0.0].max : 0.0
          return if place.nil? || blocked < wall * LEAST

          profile.blocks = [blocked / count, profile.waits].min
          profile.place = place
        rescue FreshProcess::Failed
          nil
        end

        def on_a_loop
          place = figures = nil
          note = ->(report) { place ||= report.location }
          Fiber.set_scheduler(Scheduler.new(blocking: note, threshold: Metronome::BEAT * 2))
          metronome = Metronome.new
          Fiber.schedule { metronome.run }
          Fiber.schedule do
            figures = metered { run_in_time(@items) }
          ensure
            metronome.stop
          end
          Fiber.scheduler.run
          figures && [*figures, metronome.late(figures[1]), place]
        end
      end
    end
  end
end
