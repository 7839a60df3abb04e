# frozen_string_literal: true

require "socket"
require "plait/suites/common/suite"
require "plait/io/stream"
require "plait/values/deadline"
require "plait/values/errors"
require_relative "exchange"

module Plait
  module Suites
    class Shard < Suite
      # A connection of a client that knows how long each answer will be, so that it costs next to nothing to read it.
      class Conversation
        # An answer that is not the expected one.
        class WrongAnswer < Error; end

        # @param port [Integer]
        # @param seconds [Numeric] for all of it
        # @yieldparam conversation [Conversation]
        # @return [Object] what the block returns
        def self.open(port, seconds = 60)
          conversation = new(port, Deadline.after(seconds))
          yield conversation
        ensure
          conversation&.close
        end

        def initialize(port, deadline)
          socket = TCPSocket.new("127.0.0.1", port)
          socket.setsockopt(:TCP, :NODELAY, 1)
          @stream = Io::Stream.new(socket)
          @deadline = deadline
        end

        # @param exchange [Exchange]
        # @return [Float] seconds from the first byte sent to the last one received
        # @raise [WrongAnswer]
        # @raise [TimeoutError, ConnectionClosed]
        def time(exchange)
          began = Deadline.now
          @stream.write(exchange.request, deadline: @deadline)
          refuse_error
          reply = @stream.read_exactly(exchange.size, deadline: @deadline)
          seconds = Deadline.now - began
          return seconds if exchange.right?(reply)

          raise WrongAnswer, "#{reply.bytesize} bytes were answered that are wrong, from #{reply.byteslice(0, 60).inspect} on"
        end

        # @return [String] the answer, of a command that is answered by one text
        def call(*words)
          @stream.write(Exchange.encode(words), deadline: @deadline)
          @stream.fill(deadline: @deadline) until (size = @stream.buffer[/\A\$(\d+)\r\n/, 1])
          head = "$#{size}\r\n".bytesize
          @stream.read_exactly(head + Integer(size) + 2, deadline: @deadline)[head..]
        end

        # @return [void]
        def close = @stream.close

        private

        # It is shorter than what is waited for.
        def refuse_error
          @stream.fill(deadline: @deadline) if @stream.buffer.empty?
          raise WrongAnswer, @stream.buffer[/\A[^\r\n]*/] if @stream.buffer.start_with?("-")
        end
      end
    end
  end
end
