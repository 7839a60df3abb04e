# frozen_string_literal: true

module Plait
  class Pool
    # What has happened in a pool so far, and how it is now. Its own lock: some of it happens while the pool's is not held.
    class Statistics
      COUNTED = %i[connected stale retired timeouts].freeze
      private_constant :COUNTED

      def initialize
        @lock = Mutex.new
        @counts = COUNTED.to_h { |name| [name, 0] }
        @waits = 0
        @waited = @longest = 0.0
      end

      def count(name) = @lock.synchronize { @counts[name] += 1 }

      # @param seconds [Float]
      def waited(seconds)
        @lock.synchronize do
          @waits += 1
          @waited += seconds
          @longest = seconds if seconds > @longest
        end
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
