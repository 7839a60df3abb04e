# frozen_string_literal: true

module Plait
  # Waiting for descriptors, and not waiting for them, also in a fiber that has a scheduler.
  module Readiness
    class << self
      # IO.select that holds up only the current fiber.
      # @param timeout [Numeric, nil] seconds; nil: without a limit
      # @return [Array<Array<IO>>, nil] as IO.select
      def wait(reads, writes, timeout)
        scheduler = current_scheduler
        return IO.select(reads, writes, nil, timeout) if scheduler.nil? || timeout&.zero?
        return wait_for_one(reads, writes, timeout) if reads.size + writes.size == 1
        return scheduler.io_select(reads, writes, nil, timeout) if scheduler.respond_to?(:offload_pool)

        on_a_thread(reads, writes, timeout)
      end

      # Runs a block out of the scheduler's sight: Ruby 3.1 gives read_nonblock and write_nonblock to its io_read and
      # io_write, which wait; and Process::Status.wait with WNOHANG to its process_wait, which in Async takes a thread.
      # @return [Object] the block's value
      def at_once(&block) = current_scheduler ? Fiber.new(blocking: true, &block).resume : yield

      if Native.available?
        # Reads what is there.
        # @param most [Integer] bytes
        # @return [String, Symbol, nil] :wait_readable where nothing is, nil at the end
        def read(pipe, most) = NativePipe.read(pipe, most)

        # Writes what finds room.
        # @return [Integer, Symbol] bytes; :wait_writable where there is no room
        # @raise [Errno::EPIPE]
        def write(pipe, bytes) = NativePipe.write(pipe, bytes)
      else
        def read(pipe, most) = at_once { pipe.read_nonblock(most, exception: false) }

        def write(pipe, bytes) = at_once { pipe.write_nonblock(bytes, exception: false) }
      end

      # Runs a block to its end: nothing is raised in it from outside. (An Interrupt in the main thread is.)
      # @return [Object] the block's value
      def uninterruptible(&block) = at_once { Uninterruptible.run(&block) }

      private

      def current_scheduler = Fiber.respond_to?(:current_scheduler) ? Fiber.current_scheduler : nil

      # By the hook that every scheduler has.
      def wait_for_one(reads, writes, timeout)
        ready = reads.empty? ? writes.first.wait_writable(timeout) : reads.first.wait_readable(timeout)
        [reads, writes, []] if ready
      end

      # Under any scheduler that is not ours. Async has no io_select up to 2.24; later it has one that waits on a thread too,
      # and leaves this thread behind, with the descriptors it waits for, when the wait is broken off (2.46).
      def on_a_thread(reads, writes, timeout)
        thread = Thread.new { IO.select(reads, writes, nil, timeout) }
        thread.report_on_exception = false
        thread.value
      ensure
        thread&.kill
      end
    end
  end
  private_constant :Readiness
end
