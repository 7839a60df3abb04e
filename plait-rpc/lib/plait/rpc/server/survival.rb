# frozen_string_literal: true

require_relative "../lock"
require "plait/mechanisms/interruption"
require "plait/mechanisms/thread_guard"
require "plait/values/errors"

module Plait
  module RPC
    class Server
      # Keeps the thread of all fibers from being killed by a method that one of them runs: `Thread.exit`, say. A jump out of an
      # ensure takes a kill back, except where the process ends, which kills its threads and waits until they are dead.
      module Survival
        LOOP = "all methods of an event loop share it, and the one that is meant is unknown. Use Timeout.timeout on fibers, or " \
               "run on: :threads; Server#stop ends the server"
        private_constant :LOOP

        class << self
          # Said when a server begins: what is said when this file is loaded would come true too early for those who run a
          # server at exit, as test frameworks do.
          def expect_exit = @expected ||= at_exit { @exiting = true }

          def exiting? = @exiting || false

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

          def drop(handler, thread, exception, reason)
            handler.report(Error.new(ThreadGuard.dropped(thread, exception, reason)))
          end

          # Of one worker: Thread#raise into its thread reaches what it runs by {of}, and nothing else.
          # @return [Object, nil] the block's value
          def shielded(handler, &block)
            return yield if Lock.scheduler

            ThreadGuard.over(Thread.current, Window.new(handler))
            ThreadGuard.mask(&block)
          end

          # Runs methods, which {ThreadGuard.lowered} opens for exceptions.
          # @return [Object, nil] the block's value
          # @raise [Exception] what the block raises
          def of(&block)
            Lock.scheduler ? of_fiber(&block) : ThreadGuard.guards(Thread.current).last.open(&block)
          end

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

        # Takes exceptions for a worker's thread while methods run there, and keeps them from what comes behind.
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

          # Drops what was raised for a method that is over. (What is left pending is no exception, but a kill.)
          def late?
            Thread.handle_interrupt(Exception => :immediate) { nil }
            false
          rescue Mechanisms::Interruption
            raise
          rescue Exception # rubocop:disable Lint/RescueException
            true
          end
        end
        private_constant :Window
      end
      private_constant :Survival
    end
  end
end
