# frozen_string_literal: true

module Plait
  module Protocols
    module MessagePackRPC
      module Pure
        # The bytes of a message that can be looked at.
        class View
          # @return [String] binary
          attr_reader :buffer
          # @return [Integer] where the message begins in it
          attr_reader :base
          # @return [Integer] bytes that are here, none beyond the limit
          attr_reader :size
          # @return [Integer] where the message must have ended
          attr_reader :limit

          # @param buffer [String] binary
          # @param base [Integer]
          # @param limit [Integer]
          def initialize(buffer, base, limit)
            @buffer = buffer
            @base = base
            @size = [buffer.bytesize - base, limit].min
            @limit = limit
          end

          def byte(at) = @buffer.getbyte(@base + at)

          def here?(at, size) = at + size <= @size

          # @return [Integer] the big-endian number of `size` bytes
          def number(at, size)
            size.times.inject(0) { |number, i| (number << 8) | byte(at + i) }
          end
        end
      end
    end
  end
end
