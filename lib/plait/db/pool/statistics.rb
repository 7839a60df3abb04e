# frozen_string_literal: true

module Plait
  class Pool
    # What has happened in a pool so far, and how it is now.
    class Statistics
      COUNTED = %i[connected stale retired timeouts].freeze
      private_constant :COUNTED

      def initialize
        @counts = COUNTED.to_h { |name| [name, 0] }
        @waits = 0
        @waited = @longest = 0.0
      end

      def count(name) = @counts[name] += 1

      # @param seconds [Float]
      def waited(seconds)
        @waits += 1
        @waited += seconds
        @longest = seconds if seconds > @longest
      end

      # @param books [Books]
      # @param size [Integer]
      # @return [Hash{Symbol => Numeric}]
      def report(books, size)
        idle = books.idle.size
        { size: size, idle: idle, busy: books.places - idle, waiting: books.waiting.size, **@counts, waits: @waits,
          waited: @waited, longest_wait: @longest }
      end
    end
  end
end
