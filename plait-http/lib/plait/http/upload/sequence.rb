# frozen_string_literal: true

require "plait/values/errors"

module Plait
  module HTTP
    class Upload
      # An Enumerable of Strings, asked for the next one when the last was sent. An Array is known in advance, and can be
      # sent again.
      class Sequence
        # @return [Integer, nil] bytes
        attr_reader :size

        # @param strings [Enumerable<String>]
        # @raise [UsageError]
        def initialize(strings)
          @strings = strings
          @size = strings.sum { |string| checked(string).bytesize } if replayable?
        end

        # @yieldparam piece [String]
        # @return [void]
        # @raise [UsageError] for an element that is no String; the second time, unless it is an Array
        def each
          raise UsageError, "#{@strings.class}: its Strings were sent once; of an Array they can be sent again" if used?

          @strings.each { |string| yield string unless checked(string).empty? }
        end

        # @return [Boolean]
        def replayable? = @strings.is_a?(Array)

        private

        def used?
          return false if replayable?

          @used.tap { @used = true }
        end

        def checked(string)
          return string if string.is_a?(String)

          raise UsageError, "a body can't be sent: #{@strings.class}#each gave a #{string.class}, not a String"
        end
      end
    end
  end
end
