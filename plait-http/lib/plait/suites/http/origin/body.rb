# frozen_string_literal: true

module Plait
  module Suites
    class Origin
      # What the origin answers with: bytes that follow from the request's target alone, so that the client can tell an
      # answer to somebody else's request, a hole and a cut end from the right one without being told the body.
      class Body
        # Large bodies are sent in slabs of about this size, so that a thousand of them in flight stay small in memory.
        SLAB_BYTES = 256 * 1024

        # @param target [String] path and query, as requested
        # @param size [Integer] bytes
        # @return [String] the whole body, binary
        def self.of(target, size) = new(target, size).to_s

        # @return [Integer] bytes
        attr_reader :size

        def initialize(target, size)
          @line = "#{target}\n".b
          @size = size
        end

        # @return [String]
        def to_s = @size.zero? ? String.new : bytes(0, @size)

        # @yieldparam [String] the body's consecutive pieces
        def each_slab(bytes = SLAB_BYTES)
          (0...@size).step(bytes) { |offset| yield bytes(offset, [bytes, @size - offset].min) }
        end

        private

        def bytes(offset, length)
          phase = offset % @line.bytesize
          (@line * (((phase + length) / @line.bytesize) + 1)).byteslice(phase, length)
        end
      end
    end
  end
end
