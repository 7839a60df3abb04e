# frozen_string_literal: true

module Plait
  module Lab
    class FreshProcess
      # Reads marshaled values, each after its length, from a pipe whose other end may vanish in the middle of one.
      class Mailbox
        CHUNK = 1 << 16
        LENGTH = "Q>"
        LENGTH_BYTES = 8

        # @param value [Object] marshalable
        # @return [String] as {#take} expects it
        def self.frame(value)
          bytes = Marshal.dump(value)
          [bytes.bytesize].pack(LENGTH) << bytes
        end

        def initialize(pipe)
          @pipe = pipe
          @buffer = String.new
        end

        # @param seconds [Numeric]
        # @return [Boolean] whether a whole value is here
        def wait(seconds)
          return true if whole?

          fill if @pipe.wait_readable(seconds)
          whole?
        end

        # @return [Object] the next value; it must be here
        def take
          bytes = @buffer.slice!(0, LENGTH_BYTES + length)
          Marshal.load(bytes.byteslice(LENGTH_BYTES..))
        end

        private

        def fill
          loop { @buffer << @pipe.read_nonblock(CHUNK) }
        rescue IO::WaitReadable, EOFError
          nil
        end

        def whole? = @buffer.bytesize >= LENGTH_BYTES && @buffer.bytesize >= LENGTH_BYTES + length

        def length = @buffer.unpack1(LENGTH)
      end
    end
  end
end
