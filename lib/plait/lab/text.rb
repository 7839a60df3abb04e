# frozen_string_literal: true

require_relative "../values/errors"

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
      # @return [String] "KeyError: key not found"; Plait's own errors speak for themselves
      def of_error(error)
        message = clean(error.message).split.join(" ")
        return error.class.name if message.empty?

        error.is_a?(Error) ? shorten(message) : "#{error.class}: #{shorten(message)}"
      end

      def shorten(text) = text.size > LONGEST ? "#{text[0, LONGEST]}…" : text
    end
  end
end
