# frozen_string_literal: true

require "http/2"

module Plait
  module Protocols
    module HPACK
      # The gem http-2's, with two rules more (RFC 7541). Callers load that gem first.
      class Decompressor < ::HTTP2::Header::Decompressor
        # Bytes of a number behind its first one: five are 35 bits. The gem takes any number of them, and the time for that grows
        # with its square: 64 KiB, all of them one number, were a second and a half (RFC 7541 §5.1 lets us refuse them).
        LONGEST = 5

        # @return [Array<Array(String, String)>]
        # @raise [::HTTP2::Error::CompressionError]
        def decode(block, *)
          @fields = false
          super
        end

        # @raise [::HTTP2::Error::CompressionError]
        def integer(buffer, prefix)
          filled = (1 << prefix) - 1
          goes_on = buffer.getbyte(0).to_i.allbits?(filled)
          if goes_on && (1..LONGEST).all? { |at| buffer.getbyte(at).to_i.anybits?(0x80) }
            raise ::HTTP2::Error::CompressionError, "a number of more than #{LONGEST} bytes"
          end

          super
        end

        # The table may change its size before the first field only (RFC 7541 §4.2).
        # @return [Hash]
        # @raise [::HTTP2::Error::CompressionError]
        def header(buffer)
          command = super
          resizes = command[:type] == :changetablesize
          raise ::HTTP2::Error::CompressionError, "another size of the table behind a field" if resizes && @fields

          @fields = true unless resizes
          command
        end
      end
    end
  end
end
