# frozen_string_literal: true

require "socket"

module Plait
  module Io
    # The descriptor of a connection that many share: nothing here waits but {wait}, and nothing that is interrupted loses
    # or repeats a byte. Its owner sees to it that one at a time is in each method.
    class Channel
      # Bytes received at once.
      CHUNK = 32 * 1024
      # Matches OpenSSL's error, and leaves OpenSSL unloaded, which takes 25 ms and 2.5 MB: a connection that raises it has
      # loaded it.
      TLSError = Module.new do
        def self.===(error) = Object.const_defined?(:OpenSSL) && error.is_a?(OpenSSL::SSL::SSLError)
      end
      # What a broken connection raises.
      BREAKS = [SystemCallError, IOError, TLSError].freeze

      attr_reader :io

      def initialize(io)
        @io = io
        @chunk = String.new(capacity: CHUNK, encoding: Encoding::BINARY)
      end

      # @return [String, nil] what is there, overwritten by the next call; nil when nothing is
      # @raise [EOFError] at the end of the input
      # @raise [SystemCallError, IOError, OpenSSL::SSL::SSLError]
      def receive
        got = @io.read_nonblock(CHUNK, @chunk, exception: false)
        raise EOFError, "the end of the input" unless got

        got unless got.is_a?(Symbol)
      end

      # Takes from the front of the buffer what the kernel takes.
      # @raise [SystemCallError, IOError, OpenSSL::SSL::SSLError]
      def transmit(buffer)
        until buffer.empty?
          sent = @io.write_nonblock(buffer, exception: false)
          return if sent.is_a?(Symbol)

          sent == buffer.bytesize ? buffer.clear : buffer.replace(buffer.byteslice(sent, buffer.bytesize))
        end
      end

      # @param mode [Symbol] :read, :write or :read_write
      # @raise [IOError] when it is closed here
      def wait(mode, seconds) = seconds ? @io.to_io.wait(seconds, mode) : @io.to_io.wait(mode)

      # Sends no more, though it may be heard still.
      def end_writing
        @io.say_goodbye if @io.respond_to?(:say_goodbye)
        @io.to_io.shutdown(Socket::SHUT_WR)
      end

      # Wakes the waiting thread, and leaves the descriptor open.
      def shut = quietly { @io.to_io.shutdown(Socket::SHUT_RDWR) }

      def close = quietly { @io.close }

      # Closes our descriptor of a connection that is another process's.
      def abandon = quietly { @io.to_io.close }

      private

      # The connection is gone already: so be it.
      def quietly
        yield
      rescue *BREAKS
        nil
      end
    end
  end
end
