# frozen_string_literal: true

require "rbconfig"
require_relative "../values/own_code"

module Plait
  module Lab
    # Where in the user's own files an error was raised: neither Ruby's library nor a gem nor Plait is what is to be mended.
    module Place
      RUBY = RbConfig::CONFIG["rubylibprefix"].to_s
      FRAME = /\A(?<file>.+?):(?<line>\d+)(?::in |\z)/

      class << self
        # @param error [Exception]
        # @return [String, nil] "work.rb:3"
        def of(error)
          frames = error.backtrace.to_a.lazy.filter_map { |frame| FRAME.match(frame) }
          own = frames.find { |frame| own?(frame[:file]) }
          own && "#{near(own[:file])}:#{own[:line]}"
        end

        private

        # "-e" and "(eval)" are nobody's library.
        def own?(file)
          !file.start_with?("<internal:") && !OwnCode.file?(file) && foreign.none? { |folder| file.start_with?("#{folder}/") }
        end

        def foreign = [RUBY, *Gem.path, Gem.default_dir].reject(&:empty?)

        def near(file) = file.delete_prefix("#{Dir.pwd}/")
      end
    end
  end
end
