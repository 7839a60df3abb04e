# frozen_string_literal: true

require_relative "../values/errors"
require_relative "place"

module Plait
  module Lab
    # Text from users' code (labels, messages, results) in whatever encoding, made fit for reports.
    module Text
      # Characters of a message: some errors print the objects that they are about.
      LONGEST = 400

      module_function

      # @param value [Object]
      # @return [String] valid UTF-8; what can't be shown is a question mark
      def clean(value)
        text = value.to_s
        text = text.dup.force_encoding(Encoding::UTF_8) if text.encoding == Encoding::BINARY
        text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace, replace: "?").scrub("?")
      end

      # @param error [Exception]
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
