# frozen_string_literal: true

module Plait
  module Mechanisms
    class Auto < Mechanism
      # Items that one worker thread runs one after another, without a change of threads for each. It is a task of that
      # thread, and takes the items that the caller adds meanwhile. Each item is taken by exactly one of the two: Array#push
      # and #shift are atomic under the GVL.
      class Stretch
        # Seconds after which the caller gets to see what is done.
        LONGEST = 0.01

        # @return [Array(Integer, Object), nil] index and item that run
        attr_reader :current
        # @return [Array<Outcome>] of items that are over
        attr_reader :done
        # @return [Integer] attempts at it so far
        attr_reader :tries

        def initialize(attempt)
          @attempt = attempt
          @items = []
          @done = []
          @generation = Native.fork_generation
        end

        # @return [Boolean] whether added items may stay behind: take them by {#leftover}
        def over? = @over

        def add(index, item) = @items << [index, item]

        # @return [Array(Integer, Object), nil] index and item that no worker has started
        def leftover = @items.shift

        # The worker thread calls it in place of an {Attempt}.
        # @return [Outcome] its item is this
        def call(index, _item, worker, made: 0) # rubocop:disable Lint/UnusedMethodArgument -- as {Attempt#call}
          started = Deadline.now
          work(worker, started + LONGEST)
          Outcome.new(index: index, item: self, started_at: started, finished_at: Deadline.now, worker: worker)
        ensure
          @over = true
          @attempt = nil # it leads to the block, which may see the enumerator: that could not be collected
        end

        private

        def work(worker, limit)
          while (@current = @items.shift || last)
            outcome = @attempt.call(@current[0], @current[1], worker) { |number, _| @tries = number }
            State.clear
            @done << outcome
            @current = nil
            # A child that the item has forked takes no other.
            break if outcome.finished_at > limit || Native.fork_generation != @generation
          end
        end

        # Looks again after it has said that it ends.
        def last
          @over = true
          @items.shift
        end
      end
    end
  end
end
