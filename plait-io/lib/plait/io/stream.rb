# frozen_string_literal: true

require "socket"
require_relative "channel"
require_relative "gather"

module Plait
  module Io
    # A connected socket with a read buffer and deadlines. It serves one reader and one writer at a time. With TLS an end without
    # the peer's close_notify is an error: an attacker may have cut it.
    #
    # What fails within {#read_exactly} or {#write} leaves half a message on its way, so they close the stream when they are
    # left by an exception: a timeout, a kill or a cancellation too. {#fill} loses nothing when it is interrupted, and leaves
    # it open.
    class Stream
      # Bytes asked for at once.
      CHUNK = 64 * 1024
      # Bytes of a long message asked for at once: measured 1.1 × as fast as chunks of 64 KiB, and as fast as IO#read, which
      # has no deadline.
      LARGE = 1024 * 1024
      # Bytes of a message asked for at first: its length is only the peer's word.
      RESERVED = 64 * 1024 * 1024

      # What a broken connection raises.
      BREAKS = Channel::BREAKS

      attr_reader :io
      # @return [Endpoint, nil] of the peer
      attr_reader :endpoint
      # @return [String] binary: what was received and not consumed; the next operation changes it
      attr_reader :buffer

      # @param io [BasicSocket, TLS::Socket] connected; the stream's own from now on
      # @param endpoint [Endpoint, nil] for messages
      def initialize(io, endpoint: nil)
        @io = io
        @endpoint = endpoint
        @buffer = String.new(encoding: Encoding::BINARY)
        @generation = Native.fork_generation
      end

      def tls? = @io.respond_to?(:say_goodbye)

      def closed? = @closed || false

      # @!group Reading

      # Receives what is there into the {#buffer}, and waits when nothing is. Nothing is lost when it is interrupted.
      # @return [Integer, nil] bytes added, nil at the end of the input
      # @raise [ReadTimeout]
      # @raise [ConnectionClosed] when the connection was reset, or closed on this side
      def fill(deadline: nil)
        guarded(:read) do
          before = @buffer.bytesize
          got = attempt_read(deadline) { @buffer.empty? ? receive(CHUNK, @buffer) : append(CHUNK) }
          got && (@buffer.bytesize - before)
        end
      end

      # Takes bytes out of the {#buffer}.
      # @param count [Integer] from its beginning
      def consume(count)
        return @buffer.clear if count == @buffer.bytesize

        raise UsageError, "#{count} bytes can't be consumed: #{@buffer.bytesize} are there" if count > @buffer.bytesize

        @buffer[0, count] = ""
      end

      # Reads what is there, and waits when nothing is.
      # @param max [Integer] bytes at most
      # @param into [String, nil] is overwritten, so that no new String is needed
      # @return [String, nil] binary; nil at the end of the input
      # @raise [ReadTimeout]
      # @raise [ConnectionClosed]
      def read_partial(max = CHUNK, into = nil, deadline: nil)
        return take([max, @buffer.bytesize].min, into) unless @buffer.empty?

        into ||= String.new(encoding: Encoding::BINARY)
        guarded(:read) { attempt_read(deadline) { receive(max, into) } }
      end

      # Reads a message of known length. Closes the stream when it is left by an exception.
      # @param count [Integer] bytes
      # @param deadline [Deadline, nil] for all of it
      # @return [String] binary
      # @raise [ReadTimeout]
      # @raise [ConnectionClosed] when the input ends before
      def read_exactly(count, deadline: nil)
        return take(count, nil) if @buffer.bytesize >= count

        whole = take(@buffer.bytesize, nil)
        guarded(:read, closing: true) { complete(whole, count, deadline) }
      end

      # @!group Writing

      # Writes the parts one after another: small ones together by one system call, large ones without a copy. Closes the
      # stream when it is left by an exception.
      # @param deadline [Deadline, nil] for all of it
      # @return [Integer] bytes of all parts
      # @raise [WriteTimeout]
      # @raise [ConnectionClosed]
      def write(*parts, deadline: nil)
        guarded(:write, closing: true) { Gather.each(parts).sum { |piece| write_all(piece, deadline) } }
      end

      # @!group The whole

      # Looks at an idle connection, with one system call.
      # @return [Boolean] whether it is of no use: closed, reset, or the peer has sent unasked bytes
      def stale?
        return true if closed? || !@buffer.empty?

        unasked?
      rescue *BREAKS
        true
      end

      # Closes it, once. A thread or fiber that waits on it gets {ConnectionClosed}.
      def close
        return if @closed

        @closed = true
        return abandon if @generation != Native.fork_generation # the connection is the parent's: a shutdown would end it for both

        @reading || @writing ? wake : release
      end

      # Closes our descriptor of a connection that another owner goes on using: a fork's, or the other's after `io` was
      # handed over. Nothing is sent and nothing shut down.
      def abandon
        @closed = true
        @io.to_io.close
      end

      def inspect = "#<#{self.class} #{@endpoint}#{" closed" if @closed}>"

      private

      # A failure in here may leave half a message with the peer.
      def guarded(direction, closing: false)
        raise closed_here if @closed

        value = yield
        finished = true
        value
      rescue *BREAKS => e
        raise failure(direction, e)
      ensure
        close if closing && !finished
      end

      # @yieldreturn [String, Symbol, nil] :wait_readable, :wait_writable, bytes, nil at the end
      def attempt_read(deadline)
        while (got = yield).is_a?(Symbol)
          await(got, deadline)
        end
        got
      end

      def receive(max, into) = @io.read_nonblock(max, into, exception: false)

      # By way of a second String, since `read_nonblock` overwrites; its memory is given back at once. Nothing in here waits,
      # and no interrupt comes while bytes are between two places.
      def append(max)
        chunk = String.new(encoding: Encoding::BINARY)
        Uninterruptible.run do
          got = receive(max, chunk)
          got.is_a?(String) ? (@buffer << got).tap { chunk.clear } : got
        end
      end

      # What is there at first is read in place. `read_nonblock` has no offset, so the rest comes by way of a second String
      # that stays in the processor's cache. Reading reserves the memory: `String.new(capacity:)` of Ruby 4.0 writes all of it.
      def complete(whole, count, deadline)
        found = whole.empty? ? attempt_read(deadline) { receive([count, RESERVED].min, whole) } : whole
        raise truncated(whole, count) unless found

        chunk = String.new(encoding: Encoding::BINARY)
        while (left = count - whole.bytesize).positive?
          whole << (attempt_read(deadline) { receive([left, LARGE].min, chunk) } or raise truncated(whole, count))
        end
        whole
      end

      def take(count, into)
        piece = @buffer.byteslice(0, count)
        consume(count)
        into ? into.replace(piece) : piece
      end

      def write_all(piece, deadline)
        size = piece.bytesize
        done = 0
        while done < size
          sent = @io.write_nonblock(done.zero? ? piece : piece.byteslice(done, size), exception: false)
          sent.is_a?(Symbol) ? await(sent, deadline, WriteTimeout) : done += sent
        end
        size
      end

      # Says that it waits, so that a thread that closes the stream leaves the descriptor to it: a number that is closed
      # under a waiter may be given to the next connection, and epoll forgets it without a word.
      def await(way, deadline, error = ReadTimeout)
        way == :wait_readable ? @reading = true : @writing = true
        @io.to_io.public_send(way, deadline&.remaining) or raise late(error)
        raise closed_here if @closed

        true
      ensure
        # Without any call: an interrupt in one would leave the mark, and a marked stream never closes its socket.
        case way
        when :wait_readable then @reading = false
        else @writing = false
        end
        release if @closed
      end

      # With TLS session tickets may lie there unread: OpenSSL takes them, and then says that nothing is there.
      def unasked?
        got = @io.is_a?(BasicSocket) ? @io.recv_nonblock(1, Socket::MSG_PEEK, exception: false) : append(1)
        got != :wait_readable
      end

      def release = quietly { @io.close unless @reading || @writing }

      def wake = quietly { @io.to_io.shutdown(Socket::SHUT_RDWR) }

      # The connection is gone already: so be it.
      def quietly
        yield
      rescue *BREAKS
        nil
      end

      def late(error)
        what = error == ReadTimeout ? "#{peer} sent nothing in time" : "#{peer} did not take the bytes in time"
        error.new(what, endpoint: @endpoint)
      end

      def truncated(whole, count)
        ConnectionClosed.new("#{peer} closed the connection after #{whole.bytesize} of #{count} bytes", endpoint: @endpoint)
      end

      def closed_here = ConnectionClosed.new("the connection to #{peer} was closed on this side", endpoint: @endpoint)

      # @param direction [Symbol] :read or :write
      # @param error [StandardError] the system's, or OpenSSL's
      def failure(direction, error)
        return closed_here if @closed

        what = direction == :read ? "reading from" : "writing to"
        ConnectionClosed.new("#{what} #{peer} failed: #{error.message}", endpoint: @endpoint)
      end

      def peer = @endpoint || "the peer"
    end
  end
end
