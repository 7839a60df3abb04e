# frozen_string_literal: true

module Plait
  module Mechanisms
    # How many items may wait at a worker behind the running ones: enough for a few milliseconds, so that the way
    # through the pipes costs a tiny item next to nothing, and none where an item takes long, so that it goes to
    # the worker that is free first.
    class Pace
      # Seconds of work that may wait at a worker. Items of 1 ms take 5 % longer than in a loop by hand with 0.004, 3 %
      # with 0.010, no less with more.
      AHEAD = 0.010
      # Seconds per item from which nothing waits. Between the two one item waits, which hides the way through the
      # pipes (about 0.15 ms) at up to 3 % of an item.
      SLOW = 0.02
      # Items that wait at most. TUNED
      MOST = 256
      # Items ahead, up to which each answer is worth its own way. With more, several travel together.
      FEW = 4
      # Weight of the old average at each further item.
      KEEP = 0.9

      # @return [Integer] items per worker
      attr_reader :ahead

      def initialize(workers)
        @workers = workers
        @ahead = 0
        @done = 0
      end

      def few? = @ahead <= FEW

      # @param seconds [Float] that a worker was busy with them
      def record(seconds, items)
        mean = seconds / items
        @average = @average ? mean + ((@average - mean) * (KEEP**items)) : mean
        @done += items
        adapt
      end

      # @return [Float] seconds that they take
      def seconds(items) = items * (@average || 0.0)

      private

      # Not more than have been answered so far: an endless source is pulled hardly further than it is consumed.
      def adapt
        return @ahead = 0 if @average >= SLOW

        @ahead = [(AHEAD / [@average, 1e-6].max).ceil, MOST, @done / @workers].min
      end
    end
    private_constant :Pace
  end
end
