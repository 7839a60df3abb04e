# frozen_string_literal: true

require "zlib"

module Plait
  module HTTP
    module Codings
      # One stream of Zlib's, in a wrapper or without.
      class Inflater
        # @param window_bits [Integer] as zlib takes it: says which wrapper
        def initialize(window_bits)
          @zlib = Zlib::Inflate.new(window_bits)
        end

        # @param bytes [String]
        # @yieldparam piece [String] of 16 KiB at most
        # @return [String, nil] the bytes behind the end of the stream; nil: it goes on
        # @raise [Zlib::Error]
        def feed(bytes)
          before = @zlib.total_in
          @zlib.inflate(bytes) { |piece| yield piece unless piece.empty? }
          bytes.byteslice(@zlib.total_in - before, bytes.bytesize) if @zlib.finished?
        end

        # Before another stream.
        # @return [void]
        def reset = @zlib.reset

        # @return [void]
        def close
          return if @zlib.closed?

          @zlib.reset # or Ruby warns of a stream that was not finished
          @zlib.close
        end
      end
    end
  end
end
