# frozen_string_literal: true

require "io/event"

module Plait
  module Suites
    class Origin
      # A fiber per connection, directly over io-event's selector. Not over Plait::Scheduler, although that would do:
      # what is measured and what it is measured against should not share a loop and its defects, and the fewer the
      # layers, the less of the cores the origin takes from its client (21 µs a request at 1,000 in flight).
      class FiberLoop
        # Sleepers due within this many seconds are woken together: a thousand answers due in one millisecond would
        # otherwise cost a system call each.
        TICK = 0.001

        def initialize
          @selector = selector.new(Fiber.current)
          @sleepers = {}
          @scratch = String.new
        end

        # @return [String] a buffer to read into, whoever reads, as long as nobody waits before it is used up
        attr_reader :scratch

        # Runs until the process ends.
        def run
          loop do
            @selector.select(interval)
            wake_sleepers unless @sleepers.empty?
          end
        end

        # Runs the block soon, in a fiber of its own.
        def spawn(&block) = @selector.push(Fiber.new(&block))

        # Waits until the descriptor can be read.
        def wait_readable(io) = @selector.io_wait(Fiber.current, io, IO::READABLE)

        # Waits until the descriptor can be written.
        def wait_writable(io) = @selector.io_wait(Fiber.current, io, IO::WRITABLE)

        # @param seconds [Float]
        def sleep(seconds)
          (@sleepers[seconds] ||= []) << [now + seconds, Fiber.current]
          @selector.transfer
        end

        private

        # Its io_uring selector measured 1.3 × slower than its epoll.
        def selector
          IO::Event::Selector.const_defined?(:EPoll) ? IO::Event::Selector::EPoll : IO::Event::Selector.default
        end

        def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

        def interval
          return if @sleepers.empty?

          [@sleepers.each_value.map { |queue| queue.first.first }.min - now, TICK].max
        end

        # One queue for each duration: whoever fell asleep first wakes first, so no heap is needed.
        def wake_sleepers
          @sleepers.each_key.to_a.each do |seconds|
            queue = @sleepers[seconds]
            queue.shift[1].transfer while queue.any? && queue.first[0] <= now
            @sleepers.delete(seconds) if queue.empty?
          end
        end
      end
    end
  end
end
