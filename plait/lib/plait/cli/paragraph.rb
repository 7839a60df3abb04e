# frozen_string_literal: true

module Plait
  module CLI
    # Prose broken into lines.
    module Paragraph
      # @param text [String] line breaks in it count as blanks
      # @param width [Integer] columns
      # @return [Array<String>]
      def self.wrap(text, width)
        text.split.each_with_object([+""]) do |word, lines|
          lines << +"" if lines.last.size + word.size >= width && !lines.last.empty?
          lines.last << (lines.last.empty? ? word : " #{word}")
        end
      end
    end
  end
end
