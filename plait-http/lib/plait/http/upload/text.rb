# frozen_string_literal: true

module Plait
  module HTTP
    class Upload
      # A String: its bytes, whatever its encoding.
      class Text
        # @return [String]
        attr_reader :string

        # @param string [String]
        def initialize(string)
          @string = string
        end

        # @return [Integer] bytes
        def size = @string.bytesize

        # @yieldparam piece [String]
        # @return [void]
        def each
          yield @string unless @string.empty?
        end

        # @return [Boolean]
        def replayable? = true
      end
    end
  end
end
