# frozen_string_literal: true

module Plait
  module HTTP
    module NetHTTP
      # What the {Pool} has for one {Key}. Knows no lock: the pool has it.
      class Shelf
        # @return [Array<Connection>] that belong to nobody, the longest idle first
        attr_reader :idle
        # @return [Hash{Lease => true}] the longest resting first
        attr_reader :resting
        # @return [Array<Lease>] in the order in which they came
        attr_reader :line
        # @return [Integer] leases that are held or resting
        attr_accessor :leased

        def initialize
          @idle = []
          @resting = {}.compare_by_identity
          @line = []
          @leased = 0
        end

        # @return [Integer] connections
        def size = @idle.size + @leased

        def empty? = size.zero? && @line.empty?

        # The one that was used last: it is the least likely to be stale, and the others can grow old.
        # @return [Connection, nil]
        def take_idle(patience) = @idle.last && !@idle.last.idle_longer_than?(patience) ? @idle.pop : nil

        # @return [Connection, nil] taken away from the session that has rested longest
        def take_resting(patience)
          lease, = @resting.first
          take_away(lease) if lease && !lease.connection.idle_longer_than?(patience)
        end

        # @return [Float, nil] since when its longest unused connection has not been used
        def oldest = (@idle.first || @resting.first&.first&.connection)&.idle_since

        # @return [Connection] that one
        def take_oldest = @idle.shift || take_away(@resting.first.first)

        # @param limit [Numeric] seconds
        # @param now [Float] monotonic seconds
        # @return [Array<Connection>] those that have been unused for longer
        def take_overdue(limit, now)
          overdue, @idle = @idle.partition { |connection| connection.idle_longer_than?(limit, now) }
          forgotten = @resting.keys.select { |lease| lease.connection.idle_longer_than?(limit, now) }
          overdue + forgotten.map { |lease| take_away(lease) }
        end

        private

        def take_away(lease)
          @resting.delete(lease)
          @leased -= 1
          lease.give_up
        end
      end
    end
  end
end
