# frozen_string_literal: true

module Plait
  module Protocols
    module HTTP1
      module Pure
        # The message ends with its head. Also the contract of the bodies.
        class NoBody
          # @param bytes [String] binary
          # @param at [Integer] of the first byte that wasn't consumed
          # @return [Array(Symbol, String, Integer)] :data, :done or :more; the data; where the first byte not consumed is
          # @raise [Broken]
          def next(_bytes, at) = [:done, nil, at]

          # At the end of the input.
          #
          # @return [Symbol, nil] the rule that is broken when the message ends here
          def unfinished = nil

          # @return [Array<Field>]
          def trailers = []
        end
      end
    end
  end
end
