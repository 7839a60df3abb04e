# frozen_string_literal: true

require "zlib"

module Plait
  module HTTP
    module Codings
      # RFC 7932, by the gem brotli, where it is installed.
      class Brotli
        # The first one that decodes piece by piece.
        GEM = 'gem "brotli", ">= 0.8"'
        # Bytes that come out at once.
        PIECE = 64 * 1024
        @lock = Mutex.new

        class << self
          def available?
            @lock.synchronize { @available = load if @available.nil? } if @available.nil?
            @available
          end

          # @return [Array<Class>] exceptions of the gem
          def faults = @available ? [::Brotli::Error] : []

          private

          def load
            require "brotli"
            ::Brotli.const_defined?(:Decompressor)
          rescue LoadError
            false
          end
        end

        def initialize
          @decompressor = ::Brotli::Decompressor.new
        end

        def decode(bytes, &block)
          return if bytes.empty?

          @started = true
          raise Fault, "there are bytes behind its end" if @decompressor.finished?

          give(bytes, &block)
          give("", &block) until @decompressor.finished? || @decompressor.can_accept_more_data
          raise Fault, "there are bytes behind its end" unless @decompressor.unused_data.empty?
        end

        # @return [Boolean] whether the data may end here
        def complete? = !@started || @decompressor.finished?

        def close = nil

        private

        def give(bytes)
          piece = @decompressor.process(bytes, output_buffer_limit: PIECE)
          yield piece unless piece.empty?
        end
      end

      # RFC 1952: one member or several, one behind the other. Their checksums and lengths are verified.
      class Gzip
        MAGIC = "\x1f\x8b".b.freeze
        WRAPPER = Zlib::MAX_WBITS + 16

        def initialize
          @inflater = Inflater.new(WRAPPER)
          @between = true # members
        end

        def decode(bytes, &block)
          bytes = decode_member(bytes, &block) until bytes.nil? || bytes.empty?
        end

        # @return [Boolean] whether the data may end here. A body of no bytes at all is one of an answer that has none.
        def complete? = @between

        def close = @inflater.close

        private

        # @return [String, nil] the bytes behind the member; nil: it goes on
        def decode_member(bytes, &block)
          check_beginning(bytes) if @members
          @between = false
          rest = @inflater.feed(bytes, &block) or return
          @inflater.reset
          @members = @between = true
          rest
        end

        # Zlib's error about the first member is clear enough.
        def check_beginning(bytes)
          return unless @between

          raise Fault, "there are bytes behind its end" unless MAGIC.start_with?(bytes.byteslice(0, 2).b)
        end
      end

      # RFC 9110 §8.4.1.2: the zlib format (RFC 1950). Some servers send its contents without the wrapper (RFC 1951); the
      # first two bytes tell which it is.
      class Deflate
        RAW = -Zlib::MAX_WBITS
        WRAPPED = Zlib::MAX_WBITS

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

      # An inflating step found broken bytes. The decoder turns this error into one that says where.
      class Fault < StandardError; end

      # One stream of Zlib's, in a wrapper or without.
      class Inflater
        # @param window_bits [Integer] as zlib takes it: says which wrapper
        def initialize(window_bits)
          @zlib = Zlib::Inflate.new(window_bits)
        end

        # @yieldparam piece [String] of 16 KiB at most
        # @return [String, nil] the bytes behind the end of the stream; nil: it goes on
        # @raise [Zlib::Error]
        def feed(bytes)
          before = @zlib.total_in
          @zlib.inflate(bytes) { |piece| yield piece unless piece.empty? }
          bytes.byteslice(@zlib.total_in - before, bytes.bytesize) if @zlib.finished?
        end

        # Before another stream.
        def reset = @zlib.reset

        def close
          return if @zlib.closed?

          @zlib.reset # or Ruby warns of a stream that was not finished
          @zlib.close
        end
      end
    end
  end
end
