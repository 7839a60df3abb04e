# frozen_string_literal: true

require_relative "../interruption"
require_relative "../state"
require_relative "../../values/errors"

module Plait
  module Mechanisms
    module Offload
      # One block on its way to a thread and back.
      class Job
        # Seconds that an interrupted block has for its `ensure` parts before its thread is killed.
        GRACE = 2.0

        # @param stop [#call, nil] ends a call in C that no interruption reaches
        def initialize(block, stop = nil)
          @block = block
          @storage = State.storage
          @stop = stop
          @done = Thread::Queue.new # a fiber that pops it waits in its scheduler
          @lock = Mutex.new
        end

        # On the pool's thread.
        def run
          return unless start

          begin
            @error = WorkerDied.new("the thread of an offloaded block was killed before the block had ended")
            State.inherit(@storage)
            @value = Thread.handle_interrupt(Exception => :immediate) { @block.call }
            @error = nil
          rescue Exception => e # rubocop:disable Lint/RescueException -- it belongs to the fiber
            @error = e
          ensure
            finish
          end
        end

        # Instead of {#run}.
        def give_up(error)
          @error = error
          finish
        end

        # In the fiber.
        # @return [Object] the block's value
        # @raise [Exception] what the block raised, or what interrupted the wait, after the block has ended
        # @raise [WorkerDied] when the block has ended its thread
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

          @stop&.call
          killer = start_killer
          await_stop
        ensure
          killer&.kill
        end

        # Where the system gives no thread, its block may take as long as it likes.
        def start_killer
          Thread.new { kill_late }
        rescue ThreadError
          nil
        end

        def interrupt_thread
          @lock.synchronize do
            @stopped = true
            @thread&.raise(Interruption.new)
            @thread
          end
        end

        # Also when further interruptions come: the last of them is raised then.
        def await_stop
          @done.pop
        rescue Exception => e # rubocop:disable Lint/RescueException
          later = e
          retry
        ensure
          raise later if later
        end

        # Its thread may be at another's job by now.
        def kill_late
          sleep(GRACE)
          @lock.synchronize { @thread&.kill }
          @done << true
        end
      end
    end
  end
end
