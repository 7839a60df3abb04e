# frozen_string_literal: true

require "rbconfig"

module Plait
  module Lab
    # Where in the user's own files an error was raised: neither Ruby's library nor a gem nor Plait is what is to be mended.
    module Place
      RUBY = RbConfig::CONFIG["rubylibprefix"].to_s
      FRAME = /\A(?<file>.+?):(?<line>\d+)(?::in |\z)/

      class << self
        # @return [String, nil] "work.rb:3"
        def of(error)
          frames = error.backtrace.to_a.lazy.filter_map { |frame| FRAME.match(frame) }
          own = frames.find { |frame| own?(frame[:file]) }
          own && "#{near(own[:file])}:#{own[:line]}"
        end

        private

        # "-e" and "(eval)" are no library.
        def own?(file)
          !file.start_with?("<internal:") && !OwnCode.file?(file) && foreign.none? { |folder| file.start_with?("#{folder}/") }
        end

        def foreign = [RUBY, *Gem.path, Gem.default_dir].reject(&:empty?)

        def near(file) = file.delete_prefix("#{Dir.pwd}/")
      end
    end

    private_constant :Place

    # Text from users' code (labels, messages, results) in any encoding, made fit for reports.
    module Text
      # Characters of a message: some errors print the objects that they are about.
      LONGEST = 400

      module_function

      # Control characters, and marks that turn the text around them.
      CONTROLS = /[[:cntrl:]\u202a-\u202e\u2066-\u2069]+/
      private_constant :CONTROLS

      # @return [String] valid UTF-8 in one line; what can't be shown is a question mark
      def clean(value)
        text = value.to_s
        text = text.dup.force_encoding(Encoding::UTF_8) if text.encoding == Encoding::BINARY
        text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace, replace: "?").scrub("?").gsub(CONTROLS, " ")
      end

      # @return [String] "KeyError: key not found, at work.rb:3"; Plait's own errors speak for themselves
      def of_error(error)
        message = shorten(clean(error.message).split.join(" "))
        return message if error.is_a?(Error) && !message.empty?

        what = [error.class, message].reject { |part| part.to_s.empty? }.join(": ")
        [what, *Place.of(error)].map { |part| clean(part) }.join(", at ")
      end

      def shorten(text) = text.size > LONGEST ? "#{text[0, LONGEST]}…" : text
    end
  end
end
