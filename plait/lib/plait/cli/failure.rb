# frozen_string_literal: true

require "tempfile"
require_relative "terminal"

module Plait
  module CLI
    # A bug in Plait itself: the backtrace goes to a file that can be sent with a report, one sentence to the terminal.
    class Crash
      def initialize(error)
        @error = error
      end

      # @return [String] where the backtrace was saved included
      def sentence = "a bug in plait: #{summary}. #{whereabouts}; please report it."

      private

      def summary = "#{@error.message.lines.first.to_s.strip.delete_suffix(".")} (#{@error.class})"

      def whereabouts
        "The backtrace is in #{save} (PLAIT_DEBUG=1 shows it here)"
      rescue StandardError # no temporary folder that can be written, a full disk: one bug is enough
        "PLAIT_DEBUG=1 shows the backtrace"
      end

      def save
        file = Tempfile.create(["plait-crash-", ".txt"])
        file.write(text)
        file.path
      ensure
        file&.close
      end

      def text
        ["plait #{Plait::VERSION}, #{RUBY_DESCRIPTION}", "plait #{ARGV.join(" ")}", "",
         @error.full_message(highlight: false)].join("\n")
      end
    end

    # An exception as people and the shell should see it: one sentence, one exit status.
    class Failure
      # Classes by name, since `plait version` must not load the lab to know them. The first that fits counts.
      STATUSES = {
        "Plait::CLI::Terminal::Closed" => ExitStatus::OK,
        "Plait::CLI::Terminal::Unwritable" => ExitStatus::CANT_CREATE,
        "Plait::WriteError" => ExitStatus::CANT_CREATE,
        "Plait::Lab::FreshProcess::ForkRefused" => ExitStatus::NO_PERMISSION,
        "Plait::Suites::UnreachableOrigin" => ExitStatus::UNAVAILABLE,
        "Plait::Suites::Companion::StartError" => ExitStatus::UNAVAILABLE,
        "Plait::ConnectError" => ExitStatus::UNAVAILABLE,
        "Plait::ConnectTimeout" => ExitStatus::UNAVAILABLE,
        "Plait::TLSError" => ExitStatus::UNAVAILABLE,
        "Plait::ListenError" => ExitStatus::UNAVAILABLE,
        "Plait::UsageError" => ExitStatus::USAGE,
        "Plait::UnsupportedError" => ExitStatus::UNAVAILABLE,
        "Plait::Error" => ExitStatus::FAILED,
        "NoMemoryError" => ExitStatus::FAILED,
        "Interrupt" => ExitStatus::INTERRUPTED
      }.freeze

      def initialize(error)
        @error = error
      end

      # Writes it to standard error.
      # @return [Integer] the exit status
      def tell(terminal)
        return status if @error.is_a?(Terminal::Closed) # no reader is left

        terminal.complain(terminal.paint("plait: ", :red, to: terminal.err) + sentence)
        terminal.complain(@error.full_message(highlight: false)) if ENV["PLAIT_DEBUG"] == "1"
        status
      end

      # @return [Integer] an {ExitStatus}
      def status
        names = @error.class.ancestors.map(&:name)
        STATUSES.find { |name, _| names.include?(name) }&.last || ExitStatus::SOFTWARE
      end

      def sentence
        case @error
        when NoMemoryError then "out of memory; a smaller --limit, --requests or --scale needs less"
        when Interrupt then interrupted
        else status == ExitStatus::SOFTWARE ? Crash.new(@error).sentence : @error.message.strip
        end
      end

      private

      # Without words of its own an Interrupt has the name of its class for a message, or none.
      def interrupted = ["", "Interrupt"].include?(@error.message) ? "interrupted" : @error.message
    end
  end
end
