# frozen_string_literal: true

require_relative "../mechanism"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # Waiting for pipes, and not waiting for them, also in a fiber that has a scheduler.
      module Readiness
        # IO.select that holds up only the current fiber.
        # @param reads [Array<IO>]
        # @param writes [Array<IO>]
        # @param timeout [Numeric] seconds
        # @return [Array<Array<IO>>, nil] as IO.select
        def self.wait(reads, writes, timeout)
          scheduler = Fiber.current_scheduler
          return IO.select(reads, writes, nil, timeout) if scheduler.nil? || timeout.zero?
          return scheduler.io_select(reads, writes, nil, timeout) if scheduler.respond_to?(:offload_pool)

          on_a_thread(reads, writes, timeout)
        end

        # Runs a block out of the scheduler's sight: Ruby 3.1 gives read_nonblock and write_nonblock to its io_read and
        # io_write, which wait; and Process::Status.wait with WNOHANG to its process_wait, which in Async takes a thread.
        # @return [Object] what the block returns
        def self.at_once(&block) = Fiber.current_scheduler ? Fiber.new(blocking: true, &block).resume : yield

        # Runs a block to its end: nothing is raised in it from outside. (An Interrupt in the main thread is.)
        # @return [Object] what the block returns
        def self.undisturbed(&block) = at_once { Thread.handle_interrupt(Object => :never, &block) }

        # Under any scheduler that is not ours. Async has no io_select up to 2.24; later it has one that waits on a thread too,
        # and leaves this thread behind, with the descriptors it waits for, when the wait is broken off (2.46).
        def self.on_a_thread(reads, writes, timeout)
          thread = Thread.new { IO.select(reads, writes, nil, timeout) }
          thread.report_on_exception = false
          thread.value
        ensure
          thread&.kill
        end
        private_class_method :on_a_thread
      end
    end
  end
end
