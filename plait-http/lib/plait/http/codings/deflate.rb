# frozen_string_literal: true

require "zlib"
require_relative "fault"
require_relative "inflater"

module Plait
  module HTTP
    module Codings
      # RFC 9110 §8.4.1.2: the zlib format (RFC 1950). Some servers send what is in it without the wrapper (RFC 1951); the
      # first two bytes tell which it is.
      class Deflate
        RAW = -Zlib::MAX_WBITS
        WRAPPED = Zlib::MAX_WBITS
        private_constant :RAW, :WRAPPED

        # @param bytes [String]
        # @yieldparam piece [String]
        # @return [void]
        def decode(bytes, &block)
          return if bytes.empty?
          raise Fault, "there are bytes behind its end" if @ended

          bytes = @held + bytes.b if @held
          @held = nil
          return @held = bytes.b if @inflater.nil? && undecided?(bytes)

          feed(bytes, &block)
        end

        # @return [Boolean] whether the data may end here
        def complete? = @ended || (@inflater.nil? && @held.nil?)

        # @return [void]
        def close = @inflater&.close

        private

        def feed(bytes, &block)
          @inflater ||= Inflater.new(wrapped?(bytes) ? WRAPPED : RAW)
          rest = @inflater.feed(bytes, &block) or return
          @ended = true
          raise Fault, "there are bytes behind its end" unless rest.empty?
        end

        def undecided?(bytes) = bytes.bytesize == 1 && deflate_method?(bytes.getbyte(0))

        # RFC 1950 §2.2: the method 8, a window of 32 KiB at most, and a check. A raw stream that begins so has set bits
        # that every compressor leaves zero.
        def wrapped?(bytes)
          first, second = bytes.getbyte(0), bytes.getbyte(1)
          deflate_method?(first) && (((first << 8) | second) % 31).zero?
        end

        def deflate_method?(byte) = byte & 0x0f == 8 && byte >> 4 <= 7
      end
    end
  end
end
