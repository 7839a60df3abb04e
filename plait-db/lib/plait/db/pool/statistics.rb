# frozen_string_literal: true

module Plait
  class Pool
    # What has happened in a pool so far, and how it is now. Its own lock: some of it happens while the pool's is not held.
    # Nobody is killed while he waits for it: he would take the wake-up along that was meant for him, and others would sleep
    # on (Ruby 3.1 to 3.3 at least).
    class Statistics
      NEVER = { Object => :never }.freeze
      private_constant :NEVER

      COUNTED = %i[connected stale retired timeouts].freeze
      private_constant :COUNTED

      def initialize
        @lock = Mutex.new
        @counts = COUNTED.to_h { |name| [name, 0] }
        @waits = 0
        @waited = @longest = 0.0
      end

      def count(name) = exclusively { @counts[name] += 1 }

      # @param seconds [Float]
      def waited(seconds)
        exclusively do
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
        closing = books.closing
        { size: size, idle: idle, busy: books.places - idle - closing, closing: closing, waiting: books.waiting.size, **@counts,
          waits: @waits, waited: @waited, longest_wait: @longest }
      end

      private

      def exclusively(&block) = Thread.handle_interrupt(NEVER) { @lock.synchronize(&block) }
    end
  end
end
