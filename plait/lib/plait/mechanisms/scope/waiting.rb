# frozen_string_literal: true

module Plait
  class Scope
    # How its tasks, and the block that has started them, wait for tasks.
    module Waiting
      # @api private
      # @raise [UsageError] when that would never end
      def wait_for(task)
        return wait_until { task.done? } if runner.equal?(@owner) # which no task waits for

        wait_among_tasks(task)
      end

      private

      # @return [Thread, Fiber] what a task would know as its own {Task#runner} here
      def runner = Thread.current

      def wait_among_tasks(task)
        synchronize { @waits.enter(runner, task, @running) }
        wait_until { task.done? }
      ensure
        synchronize { @waits.leave(runner) }
      end

      def wait_for_all
        wait_until { @running.empty? && @backlog.empty? }
        synchronize { @open = false }
      end

      # Waits for something that {#announce} tells of.
      def wait_until
        synchronize do
          @waiting += 1
          @changed.wait(@lock) until yield
        ensure
          @waiting -= 1
        end
      end

      def announce
        @changed.broadcast if @waiting.positive?
      end
    end
  end
end
