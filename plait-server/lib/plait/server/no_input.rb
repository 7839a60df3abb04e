# frozen_string_literal: true

module Plait
  class Server
    # The input of a request without a body. One is enough for all: there is nothing in it that could change.
    class NoInput
      # @return [String, nil] as IO#read at the end of the input
      def read(length = nil, buffer = nil)
        buffer = buffer ? buffer.replace("") : +""
        buffer if length.nil? || length.zero?
      end

      # @return [nil]
      def gets(*) = nil

      # @return [self]
      def each(*) = self

      # @return [0]
      def rewind = 0

      # @return [0]
      def size = 0

      # @return [0]
      def pos = 0

      # @return [true]
      def eof? = true

      # @return [true]
      def binmode? = true

      # @return [Encoding]
      def external_encoding = Encoding::BINARY

      # @return [nil]
      def close = nil

      # @return [false]
      def closed? = false
    end
  end
end
