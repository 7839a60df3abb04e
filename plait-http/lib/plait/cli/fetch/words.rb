# frozen_string_literal: true

require "zlib"
require "plait/cli/command"
require_relative "line"

module Plait
  module CLI
    class Fetch < Command
      # The URLs of the command line, as a source of lines: the first argument is line 1.
      class Words
        # @param words [Array<String>]
        def initialize(words)
          @words = words
          @next = 0
        end

        # @return [Line, nil] nil at the end
        def take
          text = @words[@next] or return
          Line.new(@next += 1, text.strip)
        end

        # @return [Integer]
        def total = @words.size

        # @return [Integer]
        def taken = @next

        # @see Lines#mark
        def mark = [@words.size, Zlib.crc32(@words.join("\n"))]

        # @see Lines#same?
        def same?(mark) = mark == self.mark

        # @return [void]
        def close; end
      end
    end
  end
end
