# frozen_string_literal: true

require "plait/values/deadline"
require "plait/cli/command"
require "plait/cli/progress_bar"

module Plait
  module CLI
    class Fetch < Command
      # The state of a run, for people: a bar on a terminal, else a line now and then. Two threads use it.
      class Display
        # Seconds between two redraws.
        REFRESH = 0.1
        # Seconds before the first line where nothing can be redrawn: a short run needs none.
        FIRST_LINE = 2.0
        # Seconds over which the rate is taken: more of them smooth it.
        SPAN = 10.0

        # @param silent [Boolean] show nothing, since records go to the same screen
        def initialize(terminal, source, book, tally, silent: false)
          @terminal = terminal
          @source = source
          @book = book
          @tally = tally
          @display = terminal.interactive? ? ProgressBar.new(terminal) : ProgressLines.new(terminal, of: "URLs")
          @lock = Mutex.new
          @samples = [[Deadline.now, book.size]]
          @due = silent ? Float::INFINITY : Deadline.now + first
        end

        # Shows the state of the run, where it is due.
        def refresh
          now = Deadline.now
          return if now < @due

          @lock.synchronize do
            @due = now + REFRESH
            sample(now)
            @display.show(done: @book.size, total: total, left: left, what: what)
          end
        end

        # Clears the line for the block, which prints something.
        def aside
          @lock.synchronize do
            @display.clear
            yield
          end
        end

        def stop = @lock.synchronize { @display.clear }

        # @return [Float] lines in a second, of late
        def rate
          (began, first), (now, last) = @samples.values_at(0, -1)
          now > began ? (last - first) / (now - began) : 0.0
        end

        private

        def first = @terminal.interactive? ? REFRESH : FIRST_LINE

        def sample(now)
          @samples << [now, @book.size]
          @samples.shift while @samples.size > 2 && @samples[1][0] < now - SPAN
        end

        # The length of a pipe is unknown: the lines read until now stand for it.
        def total = [@source.total || @source.taken, @book.size, 1].max

        # @return [Float, nil] seconds
        def left = @source.total && rate.positive? ? (total - @book.size) / rate : nil

        def what
          errors = @tally.failed
          text = "#{format(rate < 10 ? "%.1f" : "%.0f", rate)}/s, #{errors} #{errors == 1 ? "error" : "errors"}"
          @source.total ? text : "#{text}, more may come"
        end
      end
    end
  end
end
