# frozen_string_literal: true

require_relative "../interruption"

module Plait
  module Mechanisms
    module Offload
      # One block on its way to a thread and back.
      class Job
        # Seconds that an interrupted block has for its `ensure` parts before its thread is killed.
        GRACE = 2.0

        def initialize(block)
          @block = block
          @done = Thread::Queue.new # a fiber that pops it waits in its scheduler
          @lock = Mutex.new
        end

        # On the pool's thread.
        def run
          return unless start

          begin
            @value = Thread.handle_interrupt(Interruption => :immediate) { @block.call }
          rescue Exception => e # rubocop:disable Lint/RescueException -- it belongs to the fiber
            @error = e
          end
          finish
        end

        # In the fiber.
        # @return [Object] the block's value
        # @raise [Exception] what the block raised, or what interrupted the wait, after the block has ended
        def wait
          await_end
          raise @error if @error

          @value
        end

        private

        # Whatever ends the wait (a cancellation, a timeout, an exception from another thread) ends the block too.
        def await_end
          @done.pop
        rescue Exception # rubocop:disable Lint/RescueException
          stop
          raise
        end

        def start
          @lock.synchronize { @stopped ? false : @thread = Thread.current }
        end

        def finish
          @lock.synchronize { @thread = nil }
          @done << true
        end

        def stop
          return unless interrupt_thread

          killer = Thread.new(@thread) { |thread| kill_late(thread) }
          @done.pop
        ensure
          killer&.kill
        end

        def interrupt_thread
          @lock.synchronize do
            @stopped = true
            @thread&.raise(Interruption.new)
          end
          @thread
        end

        def kill_late(thread)
          sleep(GRACE)
          thread&.kill
          @done << true
        end
      end
    end
  end
end
