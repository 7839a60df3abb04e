# frozen_string_literal: true

module Plait
  class Server
    # What a streaming body writes to, and reads the request's body from (Rack 3, "Streaming Body").
    class Tunnel
      # @param answer [Answer]
      # @param input [#read]
      def initialize(answer, input)
        @answer = answer
        @input = input
      end

      # @return [String, nil] as IO#read
      def read(...) = @input.read(...)

      # @return [Integer] bytes
      # @raise [IOError] when it was closed
      def write(*parts)
        raise IOError, "the stream is closed" if @closed

        parts.each { |part| @answer << part.to_s }
        parts.sum { |part| part.to_s.bytesize }
      end

      # @return [self]
      def <<(part)
        write(part)
        self
      end

      # @return [self]
      def flush
        @answer.flush
        self
      end

      # @return [nil]
      def close_read = nil

      # @return [nil]
      def close_write = close

      # The answer ends when the body's `call` returns.
      # @return [nil]
      def close = (@closed = true) && nil

      # @return [Boolean]
      def closed? = @closed || false
    end
  end
end
