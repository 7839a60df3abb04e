# frozen_string_literal: true

require_relative "../compat"
require_relative "../fibers/foreign"
require_relative "../interruption"

module Plait
  class Scope
    # The block of a scope whose tasks run in threads, as they can end it when one of them has failed.
    #
    # This one, in a fiber that no loop turns, they can't: an exception in its thread might reach another fiber, while its
    # own is suspended. It meets the failure when it waits for a task, or at its end.
    class Body
      # @return [Body] for a block that is to run in the current fiber
      def self.here
        return InFiber.new if Fiber.respond_to?(:current_scheduler) && Fiber.current_scheduler

        RUBY_ENGINE != "ruby" || Mechanisms::Compat.root? ? InThread.new : new
      end

      def run = yield

      # In the thread of a task.
      # @return [void]
      def interrupt = nil

      # In the fiber that its thread began with.
      class InThread < Body
        Interruption = Mechanisms::Interruption

        def initialize
          super
          @thread = Thread.current
          @lock = Mutex.new
        end

        # It may be interrupted only in here, and not when it is itself the one who reports.
        def run(&block)
          Thread.handle_interrupt(Interruption => :never) do
            @lock.synchronize { @running = true }
            Thread.handle_interrupt(Interruption => :immediate, &block)
          ensure
            @lock.synchronize { @running = false }
          end
        end

        def interrupt = @lock.synchronize { @thread.raise(Interruption.new) if @running }
      end

      # In a fiber of a loop, where another fiber has to raise it.
      class InFiber < Body
        def initialize
          super
          @loop = Mechanisms::Fibers::Foreign.adapt(Fiber.current_scheduler)
          @fiber = Fiber.current
          @calls = Thread::Queue.new
        end

        def run
          @running = true
          Fiber.schedule { @loop.interrupt(@fiber, Mechanisms::Interruption.new) { @running } if @calls.pop }
          yield
        ensure
          @running = false
          @calls.close
        end

        def interrupt
          @calls << true
        rescue ClosedQueueError
          nil # it is over
        end
      end
    end
  end
end
