# frozen_string_literal: true

require "tty-progressbar"
require_relative "time_left"

module Plait
  module CLI
    # Progress on a terminal: one line, redrawn in place.
    class ProgressBar
      FORMAT = "  :bar :current/:total  :left:what"
      BAR = 24
      # The whole line must fit: a line that wraps can't be redrawn in place.
      NARROW = 60

      # @param terminal [Terminal]
      def initialize(terminal)
        @terminal = terminal
      end

      # @return [void]
      def show(done:, total:, left:, what:, **)
        return if @terminal.quiet

        @bar ||= bar(total)
        @bar.update(total: total)
        @bar.advance(done - @bar.current, left: left_text(left), what: fit(what.to_s, done, total, left))
      end

      # @return [void]
      def clear
        return unless @bar && !@bar.done?

        @bar.clear_line
        @terminal.err.print("\r")
      end

      private

      def bar(total)
        TTY::ProgressBar.new(FORMAT, output: @terminal.err, total: total, width: width < NARROW ? 8 : BAR, clear: true,
                                     complete: @terminal.encode("█"), incomplete: @terminal.encode("░"))
      end

      def left_text(left) = left ? "#{TimeLeft.words(left)}  " : ""

      # Cut rather than wrapped. The token is inserted by a substitution, in which a backslash would mean something.
      def fit(what, done, total, left)
        taken = 2 + (width < NARROW ? 8 : BAR) + " #{done}/#{total}  #{left_text(left)}".size
        room = [width - taken - 1, 0].max
        text = @terminal.encode(what).tr("\\", "/").gsub(/[[:cntrl:]]/, " ")
        text.size > room ? text[0, room] : text
      end

      def width = @terminal.width(@terminal.err) || 80
    end
  end
end
