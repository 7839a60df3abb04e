# frozen_string_literal: true

require "tempfile"
require_relative "../version"

module Plait
  module CLI
    # A bug in Plait itself: the backtrace goes to a file that can be sent with a report, one sentence to the terminal.
    class Crash
      # @param error [Exception]
      def initialize(error)
        @error = error
      end

      # @return [String] where the backtrace was saved included
      def sentence
        "a bug in plait: #{summary}. #{whereabouts}; please report it."
      end

      private

      def summary = "#{@error.message.lines.first.to_s.strip.delete_suffix(".")} (#{@error.class})"

      def whereabouts
        "The backtrace is in #{save} (PLAIT_DEBUG=1 shows it here)"
      rescue StandardError # no temporary folder that can be written, a full disk: whatever it is, one bug is enough
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
  end
end
