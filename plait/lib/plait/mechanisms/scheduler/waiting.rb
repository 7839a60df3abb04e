# frozen_string_literal: true

require_relative "wait"

module Plait
  class Scheduler
    # How a fiber waits: its {Wait} is held by its waker, and perhaps by the timers.
    module Waiting
      # Calls the block on the loop, between two fibers: it must not wait. One alarm for many deadlines costs less than a
      # timer for each. It does not keep the loop running when nothing else is left to do; its error ends the loop.
      # @param seconds [Numeric] from now
      # @return [Alarm] which can be cancelled, by the loop's own thread
      # @raise [UsageError] in another thread
      def after(seconds, &block)
        raise UsageError, "Scheduler#after belongs to the thread of the loop" unless Thread.current.equal?(thread)

        Alarm.new(self, block).tap { |alarm| arm(alarm, seconds) }
      end

      # @return [Boolean] whether another job may start before descriptors and timers are looked at
      # @api private
      def slice_left? = Deadline.now < @slice_end

      # Hands control to the loop until something readies the current fiber.
      # @api private
      def suspend
        @ticks += 1
        @loop.transfer
      end

      # Suspends the current fiber until its wait is woken.
      # @param timeout [Numeric, nil] seconds
      # @return [Boolean] whether it was woken, not timed out
      # @api private
      def park(timeout = nil)
        wait = Wait.new(Fiber.current)
        arm(wait, timeout) if timeout
        yield wait if block_given?
        suspend
        wait.woken?
      ensure
        disarm(wait) if wait
      end

      # @api private
      def wake(wait) = (ready(wait) if wait&.wake)

      # A time that can't be compared with others would end the loop, and all fibers with it.
      # @raise [RangeError] where Kernel#sleep would, too
      # @api private
      def arm(timer, seconds)
        at = Deadline.now + seconds
        raise RangeError, "NaN out of Time range" unless at <= Float::INFINITY

        timer.at = at
        @timers.push(timer)
      end

      # @api private
      def disarm(timer)
        return unless timer.fiber

        timer.void
        @timers.cancelled if timer.at
      end

      private

      # @return [Numeric, nil] seconds until the next timer, or until the bound
      def interval(bound)
        at = @timers.next_at
        at ? [(at - Deadline.now).clamp(0, LONGEST_POLL), bound].compact.min : bound
      end

      def fire_timers
        now = Deadline.now
        while (timer = @timers.due(now))
          timer.fire(self)
        end
      end
    end

    # A binary heap of timers: each has an `at` (monotonic seconds) and a `fiber` (nil: cancelled). A cancelled entry stays until
    # it surfaces or until half of the heap is dead: most timeouts never fire, and removing each from the middle of the
    # heap would cost more than the timers themselves.
    class Timers
      COMPACT_FROM = 64

      def initialize
        @heap = []
        @dead = 0
      end

      # @return [Array] read by the native loop; always the same object
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

      # Takes the dead ones out, and puts the others in order.
      def compact
        @heap.select!(&:fiber)
        @heap.sort_by!(&:at) # a sorted array is a heap
        @dead = 0
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

      def pop
        first = @heap.first
        last = @heap.pop
        unless @heap.empty?
          @heap[0] = last
          sift_down(0)
        end
        first
      end

      # By swaps: an interrupt, which may arrive at the end of each turn, must find each entry in the heap once.
      def sift_up(index)
        heap = @heap
        at = heap[index].at
        while index.positive?
          parent = (index - 1) >> 1
          break if heap[parent].at <= at

          heap[index], heap[parent] = heap[parent], heap[index]
          index = parent
        end
      end

      def sift_down(index)
        heap = @heap
        at = heap[index].at
        while (child = (2 * index) + 1) < heap.size
          child += 1 if child + 1 < heap.size && heap[child + 1].at < heap[child].at
          break if at <= heap[child].at

          heap[index], heap[child] = heap[child], heap[index]
          index = child
        end
      end
    end
    private_constant :Waiting, :Timers
  end
end
