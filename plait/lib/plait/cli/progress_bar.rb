# frozen_string_literal: true

require "tty-progressbar"

module Plait
  module CLI
    # A guess in words no more exact than it is.
    module TimeLeft
      DAY = 86_400

      # @return [String] "about 2 min left"
      def self.words(seconds)
        return "more than a day left" if seconds > DAY
        return "about #{(seconds / 3600.0).round} h left" if seconds >= 5400
        return "about #{(seconds / 60.0).round} min left" if seconds >= 90
        return "about #{[seconds.round(-1), 10].max} s left" if seconds >= 10

        "a few seconds left"
      end
    end

    # Progress on a terminal: one line, redrawn in place.
    class ProgressBar
      FORMAT = "  :bar :current/:total  :left:what"
      BAR = 24
      # The whole line must fit: a line that wraps can't be redrawn in place.
      NARROW = 60

      def initialize(terminal)
        @terminal = terminal
      end

      def show(done:, total:, left:, what:, **)
        return if @terminal.quiet

        @bar ||= bar(total)
        @bar.update(total: total)
        @bar.advance(done - @bar.current, left: left_text(left), what: fit(what.to_s, done, total, left))
      end

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

    # Progress where it can't be redrawn, in a log or a pipe: a line when a session begins, and one now and then.
    class ProgressLines
      # Seconds between two lines.
      INTERVAL = 10

      # @param of [String] what is counted, in the plural
      # @param interval [Numeric] seconds
      def initialize(terminal, of: "steps", interval: INTERVAL)
        @terminal = terminal
        @of = of
        @interval = interval
      end

      # @param fresh [Boolean] a session begins
      def show(done:, total:, left:, what:, fresh: false)
        return unless what && (fresh || @last.nil? || Deadline.now - @last >= @interval)

        @last = Deadline.now
        @terminal.note("plait: #{done} of #{total} #{@of}, #{what}#{", #{TimeLeft.words(left)}" if left}")
      end

      def clear = nil
    end
  end
end
