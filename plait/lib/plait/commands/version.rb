# frozen_string_literal: true

module Plait
  module CLI
    # `plait version`
    class Version < Command
      PLACE = 90
      USAGE = "version"
      SUMMARY = "Show the version of Plait and of the Ruby it runs on"
      ABOUT = "Two versions on one line; for all the machine offers, see plait doctor."

      def call
        terminal.say("plait #{Plait::VERSION} (#{RUBY_ENGINE} #{RUBY_ENGINE_VERSION}, #{RUBY_PLATFORM})")
        ExitStatus::OK
      end
    end
  end
end
