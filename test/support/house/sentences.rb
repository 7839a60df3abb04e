# frozen_string_literal: true

module Support
  module House
    # Sentences of Markdown that have too many words to be understood at once. Code counts as one word; code blocks do not count.
    class Sentences
      MOST = 20
      CODE_BLOCK = /^```.*?^```$|<!--.*?-->/m
      INDENTED_CODE = /^\n(?: {4,}\S.*\n)+/
      ITEM = /\A\s*(?:[-*]|\d+\.) /
      ENDING = /(?<=[.?!:])(?:\*\*)?\s+(?=[A-Z`*\[(0-9])|;\s/

      # @param text [String] a page
      def initialize(text)
        @text = text.gsub(CODE_BLOCK, "").gsub(INDENTED_CODE, "\n\n")
      end

      # @return [Array<String>]
      def long = paragraphs.flat_map { |text| text.split(ENDING) }.select { |sentence| words(sentence) > MOST }

      private

      # Of a table each cell is a paragraph.
      def paragraphs
        all = [[]]
        @text.each_line(chomp: true) { |line| take(line, all) }
        all.map { |lines| lines.join(" ") }
      end

      def take(line, all)
        case line
        when /\A\s*\z/, /\A#/ then all << []
        when /\A\|/ then all.concat(line.split("|").map { |cell| [cell.strip] }, [[]])
        when ITEM then all << [line.sub(ITEM, "")]
        else all.last << line.strip
        end
      end

      def words(sentence) = sentence.gsub(/`[^`]*`/, "X").gsub(/\]\([^)]*\)/, "]").split.grep(/\w/).size
    end
  end
end
