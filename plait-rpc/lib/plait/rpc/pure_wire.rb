# frozen_string_literal: true

require "plait/io/gather"

module Plait
  module RPC
    # The bytes of a connection, in Ruby. Received bytes go into the parser. It knows nothing of messages and callers.
    #
    # An interrupt loses and repeats no byte: only {#wait} can be interrupted. One caller at a time may be in {#receive}, and one
    # in {#push} or {#transmit}.
    class PureWire
      # Bytes received at once.
      CHUNK = 64 * 1024
      # Bytes sent at once; raising it copies more when the peer takes only a part.
      PIECE = 256 * 1024
      READABLE = 1
      WRITABLE = 4
      MODES = { READABLE => :read, WRITABLE => :write, READABLE | WRITABLE => :read_write }.freeze
      # Raised by a wait when another thread closes the descriptor.
      CLOSED = [IOError, *(Java::JavaLang::NullPointerException if RUBY_ENGINE == "jruby")].freeze

      attr_reader :io
      # @return [StandardError, nil] what broke the connection
      attr_reader :failure
      # @return [Integer] bytes since the connection began: pushed, given to the kernel, received
      attr_reader :pushed, :sent, :received

      # @param io [BasicSocket, Io::TLS::Socket] connected; closed by {#close}
      def initialize(io, parser)
        @io = io
        @parser = parser
        @pieces = []
        @pushed = @sent = @received = 0
        @generation = Native.fork_generation
        @breaks = [SystemCallError, IOError, *(OpenSSL::SSL::SSLError if io.respond_to?(:alpn_protocol))]
      end

      # Takes received bytes into the parser, without waiting.
      # @return [Integer, nil] bytes, 0 when there are none now, nil at the end of the input (then see {#failure})
      def receive
        Thread.handle_interrupt(NEVER) do
          chunk = @io.read_nonblock(CHUNK, exception: false)
          next 0 if chunk.is_a?(Symbol)

          chunk && take(chunk)
        end
      rescue *@breaks => e
        @failure = e
        nil
      end

      # @param parts [Array<String>] to be sent after all earlier ones; they must not change any more
      def push(parts)
        pieces = Io::Gather.each(parts)
        @pushed += pieces.sum(&:bytesize)
        @pieces.concat(pieces)
        self
      end

      # Sends what the peer takes, without waiting.
      # @return [Boolean, nil] whether that is all; nil when it is broken: see {#failure}
      def transmit
        Thread.handle_interrupt(NEVER) { nil while send_piece }
        @pieces.empty?
      rescue *@breaks => e
        @failure = e
        nil
      end

      # Drops all unsent bytes.
      def clear
        @pieces = []
        @pushed = @sent
      end

      # @return [Integer] bytes that are still to be sent
      def unsent = @pushed - @sent

      # @param events [Integer] READABLE, WRITABLE or both
      # @param limit [Float, nil] monotonic seconds
      # @return [Integer] the events that came; of both, that may be a guess; 0 when the time is up
      def wait(events, limit)
        return READABLE if events & READABLE == READABLE && buffered?

        seconds = limit && [limit - Deadline.now, 0].max
        await(events, seconds) ? events : 0
      rescue *CLOSED
        events # the next read or write raises
      end

      # @return [Boolean] whether there are decrypted bytes, for which no wait for the descriptor would end
      def buffered? = @io.respond_to?(:pending) && @io.pending.positive?

      # @return [Boolean] whether it belongs to the parent of a fork
      def foreign? = @generation != Native.fork_generation

      # Ends every wait; the waiting thread closes the descriptor.
      def shut = quietly { @io.to_io.shutdown(Socket::SHUT_RDWR) unless foreign? }

      # Closes it; in a fork, only the descriptor.
      def close
        @pieces = []
        quietly { foreign? ? @io.to_io.close : @io.close }
      end

      def inspect = "#<#{self.class} #{unsent} bytes unsent>"

      private

      if RUBY_ENGINE == "jruby" # while a thread is in its IO#wait no other one can send
        def await(events, seconds)
          io = [@io.to_io]
          IO.select((io if events.anybits?(READABLE)), (io if events.anybits?(WRITABLE)), nil, seconds)
        end
      else
        def await(events, seconds) = @io.to_io.wait(*seconds, MODES.fetch(events))
      end

      def take(chunk)
        @parser.feed(chunk)
        @received += chunk.bytesize
        chunk.bytesize
      end

      # @return [Boolean] whether there may be more to send
      def send_piece
        piece = next_piece or return false
        count = @io.write_nonblock(piece, exception: false)
        return false if count.is_a?(Symbol)

        @sent += count
        count == piece.bytesize ? @pieces.shift : @pieces[0] = piece.byteslice(count..)
        true
      end

      # A long piece is cut, so that its rest is not copied again and again.
      def next_piece
        piece = @pieces.first
        return piece if piece.nil? || piece.bytesize <= PIECE

        @pieces.insert(1, piece.byteslice(PIECE..))
        @pieces[0] = piece.byteslice(0, PIECE)
      end

      # An error of a connection that ends anyway is dropped.
      def quietly
        yield
        nil
      rescue *@breaks
        nil
      end
    end
    private_constant :PureWire
  end
end
