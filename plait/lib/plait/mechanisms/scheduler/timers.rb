# frozen_string_literal: true

module Plait
  class Scheduler
    # A binary heap of what has an `at` (monotonic seconds) and a `fiber` (nil: cancelled). A cancelled entry stays until
    # it surfaces or until half of the heap is dead: most timeouts never fire, and removing each from the middle of the
    # heap would cost more than the timers themselves.
    class Timers
      COMPACT_FROM = 64

      def initialize
        @heap = []
        @dead = 0
      end

      # @return [Array] what the native loop looks at; always the same object
      attr_reader :heap

      # @return [Integer] entries, dead ones included
      def size = @heap.size

      def push(timer)
        @heap << timer
        sift_up(@heap.size - 1)
        timer
      end

      # Says that an entry was voided before it fired.
      def cancelled
        @dead += 1
        compact if @dead > COMPACT_FROM && @dead * 2 > @heap.size
      end

      # @return [Float, nil] when the next one fires
      def next_at
        drop_dead
        @heap.first&.at
      end

      # @return [#fire, nil] the next timer that is due, removed
      def due(now)
        drop_dead
        first = @heap.first
        return unless first && first.at <= now

        pop.at = nil # marks it as no longer in the heap
        first
      end

      private

      def drop_dead
        while (first = @heap.first) && first.fiber.nil?
          pop
          @dead -= 1
        end
      end

      def compact
        @heap.select!(&:fiber)
        @heap.sort_by!(&:at) # a sorted array is a heap
        @dead = 0
      end

      def pop
        first = @heap.first
        last = @heap.pop
        unless @heap.empty?
          @heap[0] = last
          sift_down(0)
        end
        first
      end

      def sift_up(index)
        heap = @heap
        item = heap[index]
        at = item.at
        while index.positive?
          parent = (index - 1) >> 1
          break if heap[parent].at <= at

          heap[index] = heap[parent]
          index = parent
        end
        heap[index] = item
      end

      def sift_down(index)
        heap = @heap
        item = heap[index]
        at = item.at
        while (child = (2 * index) + 1) < heap.size
          child += 1 if child + 1 < heap.size && heap[child + 1].at < heap[child].at
          break if at <= heap[child].at

          heap[index] = heap[child]
          index = child
        end
        heap[index] = item
      end
    end
  end
end
