# frozen_string_literal: true

require_relative "../mechanism"
require_relative "frames"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # Cuts a stream of bytes into frames. Only whole ones come out, so that a writer who died in the middle of a frame
      # leaves nothing that looks like an answer.
      class FrameReader
        READ = 65_536
        # A length is only a claim: not more than this is reserved ahead.
        RESERVE = 1 << 30

        # @param header [Frames::Header]
        # @param kinds [Integer, nil] all but the last byte of what the first field must be
        def initialize(header, kinds: nil)
          @format = header.format
          @header = header.size
          @kinds = kinds
        end

        # @return [Boolean] whether the beginning of a frame is here and its end is not
        def partial? = !@held.nil?

        # @return [Integer] bytes to read next. A large frame is read exactly to its end: the payload then is the tail of
        #   the buffer, which Ruby shares instead of copying it.
        def wanted
          missing = @held ? @needed - @held.bytesize : READ
          @held && @needed > READ && missing < READ ? missing : READ
        end

        # @param data [String]
        # @yieldparam fields [Array] of the header
        # @yieldparam payload [String, nil]
        # @raise [Garbage]
        def push(data, &block)
          return parse(data, &block) unless @held

          @held << data
          return if @held.bytesize < @needed

          held = @held
          @held = nil
          parse(held, &block)
        end

        private

        def parse(data)
          offset = 0
          size = data.bytesize
          needed = @header
          while size - offset >= @header
            fields = data.unpack(@format, offset: offset)
            raise Garbage, "something else has written into its pipe" if @kinds && fields.first >> 8 != @kinds

            length = fields.last
            needed = @header + length
            break if size - offset < needed

            yield fields, (data.byteslice(offset + @header, length) if length.positive?)
            offset += needed
            needed = @header
          end
          hold(data, offset, needed) if offset < size
        end

        def hold(data, offset, needed)
          @needed = needed
          @held = String.new(capacity: [needed, RESERVE].min)
          @held << data.byteslice(offset, data.bytesize - offset)
        end
      end
    end
  end
end
