# frozen_string_literal: true

require "zlib"
require_relative "codings/inflater"

module Plait
  module HTTP
    # The content codings of bodies (RFC 9110 §8.4.1): gzip, deflate, and br where the gem brotli is.
    #
    # @example
    #   decoder = Codings.decoder("gzip", max: 10 << 20)
    #   pieces.each { |piece| decoder.decode(piece) { |plain| file.write(plain) } }
    #   decoder.finish
    module Codings
      # Undoes the codings of one body, piece by piece, in bounded memory. After an error it is of no more use.
      class Decoder
        # Bytes given to a step at once. Zlib copies the bytes behind a gzip member, so that many tiny members in one
        # large piece would cost the square of its size.
        SLICE = 16 * 1024
        SECTION = "RFC 9110 §8.4.1"

        # @return [String] the beginning of a message
        def self.whose(endpoint) = endpoint ? "the body from #{endpoint}" : "the body"

        # @param steps [Array<Gzip, Deflate, Brotli>] the outermost coding first
        # @param coding [String] their names, for messages
        # @param max [Integer, nil] bytes that may come out of a step
        def initialize(steps, coding, max:, endpoint: nil)
          @steps = steps
          @coding = coding
          @max = max
          @endpoint = endpoint
          @sizes = Array.new(steps.size, 0)
        end

        # @param bytes [String] as received
        # @yieldparam piece [String] of the decoded body: binary, not empty, of 64 KiB at most
        # @raise [LimitExceeded] as soon as more than max bytes come out
        # @raise [RemoteProtocolError] when it is not what its coding says
        def decode(bytes, &block)
          return (yield bytes.b unless bytes.empty?) if @steps.empty?

          0.step(bytes.bytesize - 1, SLICE) { |at| through(0, bytes.byteslice(at, SLICE), block) }
        rescue *faults => e
          raise if @outside # the caller's block has trouble of its own

          raise RemoteProtocolError.new("#{whose} is not what its Content-Encoding (#{@coding}) says: #{e.message}",
                                        rule: :content_coding, section: SECTION)
        end

        # As {decode}, all that comes out in one String.
        # @return [String] binary, perhaps empty
        def <<(bytes)
          whole = String.new(encoding: Encoding::BINARY)
          decode(bytes) { |piece| whole << piece }
          whole
        end

        # To be called when all bytes were given.
        # @return [String] empty: nothing is held back
        # @raise [TruncatedError] when the end of the coded data has not come
        def finish
          return "" if @steps.all?(&:complete?)

          raise TruncatedError.new("#{whose} ended before the end of its Content-Encoding (#{@coding})",
                                   rule: :content_coding, section: SECTION)
        end

        # Gives its memory back now, not when it is garbage.
        def close = @steps.each(&:close)

        private

        def through(index, bytes, block)
          @steps[index].decode(bytes) do |piece|
            measure(index, piece.bytesize)
            index + 1 == @steps.size ? hand_over(piece, block) : through(index + 1, piece, block)
          end
        end

        def hand_over(piece, block)
          @outside = true
          block.call(piece)
          @outside = false
        end

        # Each step, not the last one alone: output that the next step ignores costs time, too.
        def measure(index, size)
          total = @sizes[index] += size
          return unless @max && total > @max

          raise LimitExceeded.new("#{whose} has more than #{@max} bytes once its Content-Encoding (#{@coding}) is undone: " \
                                  "if that is no attack, raise max_body",
                                  limit: :max_body, maximum: @max, rule: :content_coding, section: SECTION)
        end

        def whose = Decoder.whose(@endpoint)

        def faults = [Zlib::Error, Fault, *Brotli.faults]
      end

      # A short body in one step: 7 µs for 2 kB of text, where a {Decoder} takes 24.
      module Whole
        # Bytes of a body; raising it keeps larger bodies and their texts in memory at once.
        LARGEST = 64 * 1024
        # Bytes that one byte of DEFLATE can become, at most.
        GROWTH = 1032
        # Inflaters that are kept for the next body, of 40 kB each.
        SPARE = 8
        @spare = []

        # @return [String, nil] nil: the body is long, broken, or has something behind its end
        def self.gunzip(bytes)
          return if bytes.bytesize > LARGEST

          zlib = @spare.pop || Zlib::Inflate.new(Zlib::MAX_WBITS + 16)
          text = zlib.inflate(bytes)
          whole = zlib.finished? && zlib.total_in == bytes.bytesize
          text if whole
        rescue Zlib::Error
          nil
        ensure
          zlib&.reset # or Ruby warns of a stream that was not finished
          whole && @spare.size < SPARE ? @spare.push(zlib) : zlib&.close
        end
      end

      # Codings of one body at most. Each layer may multiply its size by a thousand.
      LAYERS = 5

      module_function

      # @return [String] for Accept-Encoding: the codings that {decoder} knows
      def accept = Brotli.available? ? "gzip, deflate, br" : "gzip, deflate"

      # @param coding [String] the value of a Content-Encoding
      # @return [Boolean] whether {decoder} understands all of it
      def known?(coding) = layers(coding).all? { |name| step(name) }

      # @param string [String] a whole body
      # @param coding [String] the value of Content-Encoding: the codings in the order in which they were applied
      # @param max [Integer, nil] bytes of the result at most; nil: no limit
      # @param endpoint [#to_s, nil] whose body it is, for messages
      # @return [String] binary
      # @raise [UnsupportedError] for a coding that is not known here
      def decode(string, coding, max:, endpoint: nil)
        decoder = decoder(coding, max: max, endpoint: endpoint)
        whole = decoder << string
        decoder.finish
        whole
      ensure
        decoder&.close
      end

      # As {decode}, for a body that comes in pieces.
      def decoder(coding, max:, endpoint: nil)
        names = layers(coding)
        raise RemoteProtocolError, too_many(names, endpoint) if names.size > LAYERS

        steps = names.reverse.map { |name| (step(name) or raise UnsupportedError, unknown(name, endpoint)).new }
        Decoder.new(steps, coding, max: max, endpoint: endpoint)
      end

      def layers(coding) = coding.to_s.downcase.split(",").map(&:strip).reject { |name| ["", "identity"].include?(name) }

      def step(name)
        case name
        when "gzip", "x-gzip" then Gzip
        when "deflate" then Deflate
        when "br" then Brotli.available? ? Brotli : nil
        end
      end

      def unknown(name, endpoint)
        return "#{Decoder.whose(endpoint)} is coded as br: add `#{Brotli::GEM}` to the Gemfile" if name == "br"

        "#{Decoder.whose(endpoint)} is coded as #{name.inspect}, which is not known here: send an Accept-Encoding of #{accept}"
      end

      def too_many(names, endpoint)
        "#{Decoder.whose(endpoint)} has #{names.size} content codings, one over the other: #{LAYERS} are undone"
      end
    end
    private_constant :Codings
  end
end
