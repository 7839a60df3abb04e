# frozen_string_literal: true

module Plait
  class Scope
    # One block of a scope, running, waiting for its turn, or over.
    class Task
      # @api private
      attr_reader :block, :arguments
      # @return [Exception, nil] the block's error; a {CancelledError} if it was cancelled
      attr_reader :error
      # The thread or fiber that runs it, while it does.
      # @api private
      attr_accessor :runner

      # Started so far, where there are several.
      # @api private
      attr_accessor :attempts

      # @api private
      def initialize(scope, block, arguments)
        @scope = scope
        @block = block
        @arguments = arguments
        @done = false
        @attempts = 0
      end

      # Waits for the end.
      # @return [Object] the block's value
      # @raise [Exception] the block's error
      # @raise [CancelledError]
      def value
        wait unless @done
        raise @error if @error

        @value
      end

      # Waits for the end, a value or an error.
      # @return [self]
      def wait
        @scope.wait_for(self) unless @done
        self
      end

      # @return [Boolean]
      def done? = @done

      # @return [Boolean] whether it ended with a value
      def ok? = @done && @error.nil?

      # Ends the block where it waits; its `ensure` parts run. Does not wait for that.
      # @return [void]
      def cancel = @scope.cancel_task(self)

      # Its thread may not have started yet: then it must not.
      # @api private
      def withdraw = @withdrawn = true

      # @api private
      def withdrawn? = @withdrawn

      # For a scope that puts its tasks into a queue of jobs.
      # @api private
      def run = @scope.run(self)

      # @api private
      def complete(value, error)
        @value = value
        @error = error
        @done = true
      end
    end

    # Which task waits for which, so that a wait that could never end is an error instead.
    # @api private
    class Waits
      # So many tasks that wait for one another are looked through: a chain of thousands must not cost its square.
      FARTHEST = 64

      RING = "a task can't wait for its own end, nor for that of one that waits for it"
      STARVED = "every running task of this scope waits for others, and the limit: leaves these no room to run; raise it, or " \
                "wait for them outside of the tasks"

      def initialize
        @tasks = {}.compare_by_identity
      end

      # @param runner [Thread, Fiber] the one that is about to wait
      # @param task [Task] that it would wait for
      # @param running [Hash{Task => true}]
      # @raise [UsageError] when that would never end
      def enter(runner, task, running)
        last = last_of_chain(runner, task)
        raise UsageError, RING unless last
        raise UsageError, STARVED if !last.done? && !running.key?(last) && starved?(runner, running)

        @tasks[runner] = task
      end

      def leave(runner) = @tasks.delete(runner)

      private

      # @return [Task, nil] the last one of the chain; nil when that is the runner's own
      def last_of_chain(runner, task)
        FARTHEST.times do
          return task if task.done?
          return if task.runner.equal?(runner)

          task = @tasks[task.runner] || (return task)
        end
        task
      end

      def starved?(runner, running)
        running.each_key.all? { |task| task.runner.equal?(runner) || waiting?(task.runner) } && running.any?
      end

      def waiting?(runner) = @tasks.key?(runner) && !@tasks[runner].done?
    end

    private_constant :Waits
  end
end
