# frozen_string_literal: true

require_relative "../foreign_loop"
require_relative "../scope"

module Plait
  module Mechanisms
    class Fibers < Mechanism
      # A fiber for each task, on the loop that the caller lives on.
      class TaskScope < Scope
        def initialize(options)
          super
          @loop = ForeignLoop.adapt(Fiber.current_scheduler)
          @owner = Fiber.current
          @thread = Thread.current
          @waiters = {}.compare_by_identity
          @outsiders = []
        end

        # Also from another thread.
        def cancel = here? ? super : @loop.soon { super() }

        # @api private
        def cancel_task(task) = here? ? super : @loop.soon { super(task) }

        # @api private
        def wait_for(task) = here? ? super : wait_outside(task)

        # @api private
        def run(task)
          return if task.done?

          task.runner = Fiber.current
          perform(task)
        ensure
          task.runner = nil
          @loop.finished
        end

        private

        def here? = Thread.current.equal?(@thread)

        def runner = Fiber.current

        # @raise [UsageError] in another thread than that of the loop
        def admit(task)
          return super if Thread.current.equal?(@thread) # here?, for each of a hundred thousand

          raise UsageError,
                "a scope on fibers takes tasks in the thread of its loop; start them before Plait.offload or Thread.new"
        end

        # The queue is there before the first look at the task, and gets an entry after the task is done.
        def wait_outside(task)
          @outsiders << (queue = Thread::Queue.new)
          queue.pop until task.done?
        ensure
          @outsiders.delete(queue)
        end

        def start(task) = @loop.spawn(task)

        # Another library's loop may wake it for another reason, and what was true may no longer be so when it goes on.
        def wait_until(&condition)
          @loop.park { |wait| @waiters[wait] = condition } until yield
        ensure
          @waiters.delete_if { |_, held| held.equal?(condition) }
        end

        def announce
          @outsiders.dup.each { |queue| queue << true } unless @outsiders.empty?
          return if @waiters.empty?

          # Each once: a second wake-up on another library's loop would end a later wait.
          @waiters.delete_if { |wait, condition| condition.call && (@loop.wake(wait) || true) }
        end

        # All of a loop's fibers share its thread, and none is preempted: there is nothing to lock.
        def synchronize = yield

        def interrupt(task)
          task.withdraw
          fiber = task.runner
          return finish(task, nil, CancelledError.new) unless fiber

          @loop.interrupt(fiber, Interruption.new) { task.runner }
        end

        # An interruption that this scope has not asked for is meant for the caller, which waits for the loop.
        def interrupted(task, interruption) = (@loop.escalate(interruption) unless task.withdrawn? || interruption.is_a?(Aborted))

        def interrupt_owner
          return if Fiber.current.equal?(@owner)

          @loop.interrupt(@owner, Interruption.new) { @in_body }
        end

        def guard_owner
          @in_body = true
          yield
        ensure
          @in_body = false
        end
      end
    end
  end
end
