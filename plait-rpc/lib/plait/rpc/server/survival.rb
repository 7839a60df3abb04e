# frozen_string_literal: true

require "plait/io/orphaned_fork"

module Plait
  module RPC
    class Server
      # Keeps a server's threads alive. A method that calls `Thread.exit` would kill the thread of all fibers; a jump out of an
      # ensure takes a kill back, except at the end of the process, which kills its threads and waits for their end.
      module Survival
        LOOP = "all methods of an event loop share the thread, and its target is unknown. Use Timeout.timeout on fibers, or " \
               "run on: :threads; Server#stop ends the server"

        class << self
          # Called when a server begins: a hook set at load time would run too early for a server that runs at exit, as the
          # servers of test frameworks do.
          def expect_exit = @expected ||= at_exit { @exiting = true }

          def exiting? = @exiting || false

          # Runs a method on a thread of the thread pool.
          # @return [Object] the block's value
          def outlive_fork
            generation = Native.fork_generation
            yield
          rescue SystemExit => e
            raise
          ensure
            Io::OrphanedFork.end(e) if Native.forked_since?(generation)
          end

          # Thread#raise into the current thread, which runs all fibers, harms none of them.
          # @return [Object, nil] the block's value
          def shielding_loop(handler)
            return yield unless Lock.scheduler

            guard = ->(thread, exception) { drop(handler, thread, exception, LOOP) }
            ThreadGuard.over(Thread.current, guard)
            yield
          ensure
            ThreadGuard.end_over(Thread.current, guard) if guard
          end

          def drop(handler, thread, exception, reason) = handler.report(Error.new(ThreadGuard.dropped(thread, exception, reason)))

          # Runs a worker: Thread#raise into its thread reaches the methods that it runs by {of}, and nothing else.
          # @return [Object, nil] the block's value
          def shielded(handler, &block)
            return yield if Lock.scheduler

            ThreadGuard.over(Thread.current, Window.new(handler))
            ThreadGuard.mask(&block)
          end

          # Runs methods, which {ThreadGuard.lowered} opens for exceptions.
          # @return [Object, nil] the block's value
          # @raise [Exception] that of the block
          def of(&block) = Lock.scheduler ? of_fiber(&block) : ThreadGuard.guards(Thread.current).last.open(&block)

          private

          def of_fiber
            value = yield
            over = true
            value
          rescue Exception # rubocop:disable Lint/RescueException
            over = true
            raise
          ensure
            return unless over || exiting? # rubocop:disable Lint/EnsureReturn
          end
        end

        # Raises exceptions of other threads in a worker's thread while a method runs there, and drops later ones.
        class Window
          IDLE = "it runs no method now"

          def initialize(handler)
            @handler = handler
            @lock = Mutex.new
            @open = false
          end

          # By the thread that raises.
          def call(thread, exception)
            raised = @lock.synchronize { @open && (ThreadGuard.raise_into(thread, exception) || true) }
            Survival.drop(@handler, thread, exception, IDLE) unless raised
          end

          # @return [Object, nil] the block's value
          def open
            @open = true
            yield
          ensure
            @lock.synchronize { @open = false }
            nil while Thread.pending_interrupt? && late?
          end

          private

          # Drops an exception for a method that is over. (After that only a kill can be pending.)
          def late?
            Thread.handle_interrupt(Exception => :immediate) { nil }
            false
          rescue Mechanisms::Interruption
            raise
          rescue Exception # rubocop:disable Lint/RescueException
            true
          end
        end
      end
      private_constant :Survival
    end
  end
end
