# frozen_string_literal: true

require "io/console"

module Plait
  module CLI
    # All output for people goes through here: results to standard output, notices about them (progress, notices, errors) to
    # standard error. Colour only on a terminal, never with NO_COLOR; characters beyond ASCII only in a UTF-8 locale.
    class Terminal
      # The reader of standard output went away, as in `plait lab | head -1`.
      class Closed < StandardError; end

      # Standard output can't take more, or has never taken anything: a full disk, a vanished device, `>&-`.
      class Unwritable < StandardError; end

      STYLES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 }.freeze

      ASCII = {
        "─" => "-", "█" => "#", "░" => ".", "×" => "x", "÷" => "/", "±" => "+-", "≤" => "<=", "≥" => ">=", "≈" => "~",
        "–" => "-", "—" => "-", "−" => "-", "…" => "...", "→" => "->", "µ" => "u", "μ" => "u", "✓" => "+", "✗" => "-",
        "·" => "-", "‘" => "'", "’" => "'", "“" => "\"", "”" => "\"", "\u00a0" => " "
      }.freeze

      # @return [IO] where results and where notices go
      attr_reader :out, :err
      # @return [Boolean] no progress and no notices; results and errors are still printed
      attr_accessor :quiet

      # @param env [#[]] NO_COLOR, TERM and COLUMNS are read
      def initialize(out: $stdout, err: $stderr, env: ENV)
        @out = out
        @err = err
        [out, err].each { |stream| stream.sync = true } # what can't be written must be known at once
        @env = env
        @quiet = false
        @reserved = false
        @broken = []
        @heard = []
      end

      # From now on standard output is for a program: what people read goes to standard error, and so does what a
      # measured body prints, here or in a child process.
      def reserve_output
        @reserved = true
        return unless @out.equal?($stdout)

        @out = @out.dup.tap { |copy| copy.sync = true }
        $stdout.reopen(@err)
      end

      # @return [Boolean] a measured file has closed a stream of this process; Ruby flushes both before each fork
      def closed? = [$stdout, $stderr].any?(&:closed?)

      # Prints lines people read: tables, verdicts.
      # @raise [Closed, Unwritable]
      def say(*lines) = write(readable, "#{lines.join("\n")}\n")

      # Prints data for a program to standard output, as it is.
      # @raise [Closed, Unwritable]
      def data(text) = emit(@out, text)

      # Tells something in passing, on standard error; nothing when quiet.
      def note(line) = @quiet || complain(line)

      # Says what is wrong, on standard error.
      def complain(line)
        write(@err, "#{line}\n")
      rescue Closed, Unwritable
        nil # no reader is left
      end

      # @param styles [Array<Symbol>] keys of {STYLES}
      # @param to [IO] the stream the text is for
      # @return [String] the text, coloured where that stream shows colours
      def paint(text, *styles, to: readable)
        return text if styles.empty? || !colour?(to)

        "\e[#{styles.map { |style| STYLES.fetch(style) }.join(";")}m#{text}\e[0m"
      end

      # @return [Integer, nil] columns of the terminal that shows the results; nil where there is no edge
      def width(stream = readable)
        return columns_variable unless shown?(stream)

        columns = stream.winsize.last
        columns.positive? ? columns : columns_variable || 80
      rescue SystemCallError, NotImplementedError
        columns_variable
      end

      # @return [Boolean] progress can be drawn and redrawn in place
      def interactive? = shown?(@err) && @env["TERM"] != "dumb"

      def unicode? = Encoding.find("locale") == Encoding::UTF_8

      # @return [String] the same in the characters this terminal has
      def encode(text)
        return text if unicode? || text.ascii_only?

        text.encode(Encoding::US_ASCII, fallback: ->(char) { ASCII.fetch(char, "?") })
      end

      private

      def readable = @reserved ? @err : @out

      def write(stream, text) = emit(stream, encode(text))

      def emit(stream, text)
        return if @broken.include?(stream)

        stream.write(text)
        @heard << stream unless @heard.include?(stream)
      rescue Errno::EPIPE
        give_up(stream, Closed, "no program reads the output any more") if @heard.include?(stream)
        # Ruby makes a pipe without a reader of a standard output that was closed when it started.
        give_up(stream, Unwritable, "can't write the output: standard output is closed, or no program reads it")
      rescue SystemCallError, IOError => e
        give_up(stream, Unwritable, "can't write the output: #{e.message[/\A.+?(?= @ | - |\z)/m].to_s.strip}")
      end

      # Raised once; later output for that stream is dropped, so that the reports can still be saved.
      def give_up(stream, error, message)
        @broken << stream
        raise error, message
      end

      # A measured file may have closed it.
      def shown?(stream) = !stream.closed? && stream.tty?

      def colour?(stream) = shown?(stream) && @env["NO_COLOR"].to_s.empty? && @env["TERM"] != "dumb"

      def columns_variable
        columns = @env["COLUMNS"].to_i
        columns if columns.positive?
      end
    end
  end
end
