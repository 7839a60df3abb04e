# frozen_string_literal: true

require_relative "ladder"

module Plait
  module Mechanisms
    class Auto < Mechanism
      # Finds the level at which most items are done in a second: it measures a level, tries a neighbour, and keeps what
      # gained. It knows no thread and no clock but what it is given, so that a test can be its world.
      class Climb
        # A doubled limit must give that many times as many items, a halved one that part of them.
        WORTH = { up: 1.1, aside: 1.1, down: 0.95 }.freeze
        # From here on the limit is doubled twice before the next look.
        STEEP = 1.8
        # A ratio that is that much beyond its threshold needs no second look.
        CLEAR = 1.2
        # Seconds and items of a window.
        SHORT = 0.05
        LONG = 0.5
        ITEMS = 5
        # Seconds of a window while nothing is tried.
        RESTING = 0.1
        # Seconds in which nothing finishes, once it is known how items are: less may be the doing of other programs.
        PATIENCE = 0.15
        # Seconds until the neighbours are tried again; twice as many each time that nothing changes.
        PAUSES = (0.5..8.0)
        # Pauses below it are kept, whatever the look has taken: the first one may have been wrong.
        SOON = 1.0
        # The neighbours are tried in at most one part of so many of the time.
        RARELY = 50
        # Seconds for an item from which handing it to one of several workers may cost less than it gains.
        WORTHWHILE = 0.00005
        # By so much the work of an item differs when the work has changed, in two windows or one; of the rate, which depends on
        # what else the machine does, the second is asked.
        CHANGE = 1.6
        LEAP = 3.0
        # Part of a window in which workers had nothing to do: with more of it the source is what limits the rate.
        IDLE = 0.25

        # @return [Level] in force
        attr_reader :level
        # @return [Window, nil] of the level that is kept for now
        attr_reader :base
        # @return [Hash{Level => Trial}] the last one of each level, since the work has changed
        attr_reader :trials
        # @return [Integer] items so far
        attr_reader :total
        # @return [Integer] how often the work has changed
        attr_reader :changes

        # @param now [Float] seconds
        # @param cpu [#call] => seconds of processor time that the program has used
        def initialize(ladder, now, cpu)
          @ladder = ladder
          @cpu = cpu
          @level = ladder.first
          @trials = {}
          @changes = 0
          @last = now
          @phase = :measure
          @directions = %i[up aside]
          @pause = PAUSES.begin
          @skip = @total = @pending = 0
          @exploring = now
          open
          mark(now)
        end

        # @return [Boolean] whether the level is the best one so far
        def settled? = @phase == :rest

        # @param now [Float] when they had finished
        # @param good [Integer] items that succeeded
        # @param all [Integer] items
        def record(now, good = 1, all = good)
          @count += all
          @total += all
          return if @count <= @skip

          return start_window(now) unless @began

          @good += good
          @last = now if now > @last
        end

        # The next item says nothing: its worker has just started.
        def discount = @skip += 1

        # A long time without work is no part of a window: a burst after it is one by itself.
        # @param seconds [Float] in which workers had nothing to do
        def idle(seconds)
          @idle += seconds
          return if seconds < SHORT / 2

          @skip = @level.limit
          open
        end

        # @return [Boolean] whether a window is complete
        def due?
          return false unless @began

          items = @count - @skip
          seconds = @last - @began
          enough = items >= ITEMS && items >= @level.limit && seconds >= (settled? ? RESTING : SHORT)
          enough || (seconds >= LONG && items > [1, @level.limit / 2].max)
        end

        # Judges the window that is due, and may change the level.
        # @param pending [Integer] items that workers of this level have, or are about to get
        def judge(pending = @level.limit)
          @pending = pending
          window = close
          send(@phase, window) if window
        end

        # To be called now and then while the caller waits for an item to finish, and has more.
        # @return [Boolean] whether the level has changed: so it does while nothing finishes and the processor is idle
        def stalled(now)
          seconds = now - @marked
          return false if @base && seconds < PATIENCE

          busy = (@cpu.call - @cpu_marked) / seconds if seconds.positive? && @seen == @total
          mark(now)
          up = @ladder.double(@level) if busy && busy < Ladder::BUSY
          return false unless up

          restart if settled?
          @phase = :measure
          @directions = %i[up aside down]
          go(up)
          true
        end

        # The system refuses a level.
        def refuse(level)
          own = @base.level if @base && @base.level != level
          if own&.kind == level.kind
            @ladder.cap(own)
          else
            @ladder.refuse(level.kind)
            restart
          end
          go(own || @ladder.first)
        end

        private

        def mark(now)
          @marked = now
          @cpu_marked = @cpu.call
          @seen = @total
        end

        def open
          @count = @good = 0
          @idle = 0.0
          @began = nil
        end

        def start_window(now)
          @began = @last = now
          @cpu_began = @cpu.call
          @skip = @count
          @idle = 0.0
        end

        # @return [Window, nil] nil: too few items came in for a judgement
        def close
          seconds = @last - @began
          items = @count - @skip
          busy = (@cpu.call - @cpu_began) / seconds
          window = Window.new(@level, items, @good / seconds, busy) unless @idle > seconds * IDLE
          @skip = 0
          open
          window
        end

        # The first items at a new level belong to the old one in part.
        def go(level)
          @skip = [level.limit, @pending].max unless level == @level
          @level = level
          open
        end

        # @!group What a window means, by phase

        def measure(window)
          @base = window
          try_next
        end

        def trial(window)
          @rival = window
          ratio = compare(@base.rate)
          return adopt if ratio >= worth * CLEAR
          return reject if ratio < worth / CLEAR

          @phase = :again
          go(@base.level)
        end

        def again(window)
          ratio = compare(Math.sqrt(window.rate * @base.rate))
          @base = window
          ratio >= worth ? adopt : reject
        end

        def compare(rate)
          ratio = @rival.rate / [rate, 1e-9].max
          @trials[@rival.level] = Trial.new(@base.level, @rival, ratio)
          ratio
        end

        def rest(window)
          @odd = changed?(window) ? @odd + 1 : 0
          return change(window) if @odd > 1 || (@odd == 1 && work_differs?(window, LEAP))
          return unless @odd.zero? && @last >= @wake_at

          @pause = [@pause * 2, PAUSES.end].min
          explore(window, :up, *(:aside unless Ladder.far?(window.level)), :down)
        end

        # Many threads cost memory: fibers that are as fast will do.
        def worth
          many = @direction == :aside && @rival.level.kind == :fibers && @rival.level.limit >= Ladder::MANY
          WORTH[many ? :down : @direction]
        end

        def adopt
          @leap = @direction == :up && @rival.rate >= @base.rate * STEEP
          @base = @rival
          @directions = @direction == :aside ? [:up] : [@direction, *(@directions if @direction == :up)]
          try_next
        end

        def reject
          @ladder.refuse(@rival.level.kind) if @direction == :aside
          @directions.unshift(:up) if @direction == :aside && @base.level.limit >= Ladder::MANY
          try_next
        end

        def try_next
          until @directions.empty?
            @direction = @directions.shift
            level = neighbour or next

            @phase = :trial
            return go(level)
          end
          settle
        end

        def neighbour
          return unless worthwhile?

          level = @ladder.step(@direction, @base.level, @base.busy)
          further = @ladder.step(:up, level, @base.busy) if level && @leap && @direction == :up
          further && further.kind == level.kind ? further : level
        end

        def worthwhile? = @base.rate.zero? || @base.level.limit > 1 || 1 / @base.rate >= WORTHWHILE

        def settle
          @phase = :rest
          @odd = 0
          @reference = nil
          @wake_at = @last + [@pause, (@pause < SOON ? 0 : @last - @exploring) * RARELY].max
          go(@base.level)
        end

        def changed?(window)
          return !(@reference = window) unless @reference

          work_differs?(window) || differ?(window.rate, @reference.rate, LEAP)
        end

        # Where the processor is idle it is mostly our own; and the work of other processes is not measured.
        def work_differs?(window, factor = CHANGE)
          return false if window.level.kind == :processes

          [window, @reference].any? { |one| one.busy >= Ladder::BUSY } && differ?(window.work, @reference.work, factor)
        end

        def differ?(one, other, factor) = one > other * factor || other > one * factor

        def change(window)
          restart
          explore(window, :up, :aside, :down)
        end

        def explore(window, *directions)
          @exploring = @last
          @ladder.forgive
          @base = window
          @directions = directions
          try_next
        end

        def restart
          @changes += 1
          @trials.clear
          @pause = PAUSES.begin
        end
      end
    end
  end
end
