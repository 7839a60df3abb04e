# frozen_string_literal: true

require "io/wait"
require "plait/io/gather"
require "plait/native"
require "plait/values/deadline"

module Plait
  module RPC
    # The bytes of a connection, in Ruby: for JRuby, and for TLS everywhere. What comes goes into the parser, and what goes is
    # gathered. Of messages, and of who waits for which, it knows nothing.
    #
    # Nothing is lost or repeated when it is interrupted: only {#wait} can be. One at a time may be
    # in {#receive}, and one in {#push} or {#transmit}.
    class PureWire
      # Bytes received at once.
      CHUNK = 64 * 1024
      # Bytes sent at once, at most: a rest that has to be copied is no longer than that.
      PIECE = 256 * 1024
      READABLE = 1
      WRITABLE = 4
      MODES = { READABLE => :read, WRITABLE => :write, READABLE | WRITABLE => :read_write }.freeze
      # Interrupts are held back where bytes are between two places. Nothing in there waits.
      NEVER = { Object => :never }.freeze
      # What says in the middle of a wait that somebody has closed the descriptor.
      CLOSED = [IOError, *(Java::JavaLang::NullPointerException if RUBY_ENGINE == "jruby")].freeze
      private_constant :MODES, :NEVER, :CLOSED

      # @return [BasicSocket, Io::TLS::Socket]
      attr_reader :io
      # @return [StandardError, nil] what broke the connection
      attr_reader :failure
      # @return [Integer] bytes that were to be sent, ever
      attr_reader :pushed
      # @return [Integer] bytes of these that were given to the kernel
      attr_reader :sent
      # @return [Integer] bytes that came, ever
      attr_reader :received

      # @param io [BasicSocket, Io::TLS::Socket] connected; the wire's own from now on
      def initialize(io, parser)
        @io = io
        @parser = parser
        @pieces = []
        @pushed = @sent = @received = 0
        @generation = Native.fork_generation
        @breaks = [SystemCallError, IOError, *(OpenSSL::SSL::SSLError if io.respond_to?(:alpn_protocol))]
      end

      # Takes what is there into the parser, without waiting.
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

      # @param parts [Array<String>] to be sent behind what is to be sent already; not to be changed any more
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

      # What is still to be sent never will be.
      def clear
        @pieces = []
        @pushed = @sent
      end

      # @return [Integer] bytes that are still to be sent
      def unsent = @pushed - @sent

      # @param events [Integer] READABLE, WRITABLE or both
      # @param limit [Float, nil] monotonic seconds
      # @return [Integer] those that came; of both, that may be a guess; 0 when the time is up
      def wait(events, limit)
        return READABLE if events & READABLE == READABLE && pending?

        seconds = limit && [limit - Deadline.now, 0].max
        await(events, seconds) ? events : 0
      rescue *CLOSED
        events # the next move tells
      end

      # @return [Boolean] whether it is another process's: of the parent of a fork
      def foreign? = @generation != Native.fork_generation

      # Ends every wait, and leaves the descriptor to who waits.
      def shut = quietly { @io.to_io.shutdown(Socket::SHUT_RDWR) unless foreign? }

      # Of a connection that is another process's only the descriptor is closed.
      def close
        @pieces = []
        quietly { foreign? ? @io.to_io.close : @io.close }
      end

      # @return [String]
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

      # A long one is cut, so that a rest is not copied again and again.
      def next_piece
        piece = @pieces.first
        return piece if piece.nil? || piece.bytesize <= PIECE

        @pieces.insert(1, piece.byteslice(PIECE..))
        @pieces[0] = piece.byteslice(0, PIECE)
      end

      # Bytes that are decrypted already, and that no wait for the descriptor would tell of.
      def pending? = @io.respond_to?(:pending) && @io.pending.positive?

      # The connection is gone already: so be it.
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
