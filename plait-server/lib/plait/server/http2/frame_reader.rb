# frozen_string_literal: true

require_relative "frames"
require_relative "violation"

module Plait
  class Server
    module HTTP2
      # Bytes in, frames out.
      class FrameReader
        # What a client says first (RFC 9113 §3.4).
        MAGIC = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".b.freeze

        def initialize
          @bytes = "".b
          @at = 0
        end

        # @param bytes [String] received
        # @return [self]
        def <<(bytes)
          @bytes = @at == @bytes.bytesize ? "".b : @bytes.byteslice(@at..) if @at.positive?
          @at = 0
          @bytes << bytes
          self
        end

        # @return [Frames::Frame, nil] nil: more bytes are needed
        # @raise [Violation]
        def next
          return unless @greeted || greeted?
          return if left < Frames::HEAD

          high, low, type, flags, id = @bytes.byteslice(@at, Frames::HEAD).unpack("CnCCN")
          size = check((high << 16) | low)
          return if left < Frames::HEAD + size

          payload = @bytes.byteslice(@at + Frames::HEAD, size)
          @at += Frames::HEAD + size
          Frames::Frame.new(type, flags, id & 0x7fff_ffff, payload)
        end

        private

        def left = @bytes.bytesize - @at

        def greeted?
          begun = @bytes.byteslice(0, MAGIC.bytesize)
          raise Violation.new(:protocol_error, "it began with #{begun.inspect}", "§3.4") unless MAGIC.start_with?(begun)
          return unless begun.bytesize == MAGIC.bytesize

          @at = MAGIC.bytesize
          @greeted = true
        end

        # Before its bytes have come: of one that speaks something else we would wait for megabytes.
        def check(size)
          return size if size <= Frames::LARGEST

          raise Violation.new(:frame_size_error, "a frame of #{size} bytes, where #{Frames::LARGEST} are allowed", "§4.2")
        end
      end
    end
  end
end
