# frozen_string_literal: true

require "plait/values/errors"

module Plait
  module RPC
    # What comes in chunks: the result of {Client#stream}, or an argument of a method that is called so. It is read once, and
    # nothing is fetched that nobody reads: who reads slowly slows down who writes, and who stops, by `break` too, ends it.
    #
    # @example
    #   client.stream(:export, "2024").each { |chunk| file.write(chunk) }
    class Stream
      include Enumerable

      # @param source [#each, #close]
      # @api private
      def initialize(source)
        @source = source
        @begun = false
      end

      # @yieldparam chunk [Object]
      # @return [self]
      # @raise [RemoteError] who writes has failed
      # @raise [ConnectionClosed, ReadTimeout]
      # @raise [UsageError] it was read before
      def each(&block)
        return to_enum unless block
        raise UsageError, "a stream is read once" if @begun

        @begun = true
        @source.each(&block)
        self
      end

      # Who writes is told that no more is wanted.
      # @return [void]
      def close
        @begun = true
        @source.close
      end

      # @return [String]
      def inspect = "#<#{self.class}#{" read" if @begun}>"
    end
  end
end
