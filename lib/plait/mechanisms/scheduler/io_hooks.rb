# frozen_string_literal: true

require_relative "select"
require_relative "wait"

module Plait
  class Scheduler
    # The hooks of Fiber::Scheduler that wait for descriptors.
    module IoHooks
      # @param events [Integer] IO::READABLE | IO::WRITABLE | IO::PRIORITY
      # @param timeout [Float, nil] seconds
      # @return [Integer, false] the events that came, false after the timeout
      # @raise [IO::TimeoutError] after the IO's own timeout
      def io_wait(io, events, timeout = nil)
        @ticks += 1
        return within(timeout) { @selector.io_wait(Fiber.current, io, events) } if timeout

        bounded(io) { @selector.io_wait(Fiber.current, io, events) }
      end

      # @return [Integer] bytes read, or -errno
      def io_read(io, buffer, length, offset = 0)
        @ticks += 1
        bounded(io) { @selector.io_read(Fiber.current, io, buffer, at_least_one(length, buffer, offset), offset) }
      end

      # @return [Integer] bytes written, or -errno
      def io_write(io, buffer, length, offset = 0)
        @ticks += 1
        bounded(io) { @selector.io_write(Fiber.current, io, buffer, at_least_one(length, buffer, offset), offset) }
      end

      # A disk has no readiness to wait for: a thread does the reading.
      # @return [Integer] bytes read, or -errno
      def io_pread(io, buffer, from, length, offset) = offload { buffer.pread(io, from, length, offset) }

      # @return [Integer] bytes written, or -errno
      def io_pwrite(io, buffer, from, length, offset) = offload { buffer.pwrite(io, from, length, offset) }

      # @param timeout [Numeric, nil] seconds
      # @return [Array(Array, Array, Array), nil] as IO.select
      # @raise [ArgumentError] as IO.select, which leaves the check to the scheduler
      def io_select(readables, writables, exceptables, timeout = nil)
        raise ArgumentError, "time interval must not be negative" if timeout&.negative?

        Select.new(self, readables, writables, exceptables).wait(timeout)
      end

      private

      # With a minimum of 0 the selector would not wait, and Ruby's sysread and syswrite then raise EAGAIN.
      def at_least_one(length, buffer, offset) = length.zero? && buffer.size > offset ? 1 : length

      # The timer hands over to the fiber inside the selector's wait, which then reports that nothing came.
      def within(seconds)
        wait = Wait.new(Fiber.current)
        arm(wait, seconds)
        yield
      ensure
        disarm(wait)
      end

      def bounded(io, &block)
        seconds = io.timeout
        return yield unless seconds

        timeout_after(seconds, IO::TimeoutError, "the IO was not ready within #{seconds} s", &block)
      end
    end
  end
end
