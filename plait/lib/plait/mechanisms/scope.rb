# frozen_string_literal: true

require_relative "scope/task"

module Plait
  # Tasks that don't outlive the block that started them. When one fails, the others and the block itself are cancelled,
  # and {Plait.run} raises its error (with `on_error: :collect` the error waits in its task instead).
  #
  # How a task is started and interrupted is up to the subclass.
  class Scope
    ENDED = "the thread of this task ended before the task: its block ended it (Thread.exit, Thread#kill); `next` returns " \
            "early from a block"

    # Ends a task that asks for more after another has failed.
    class Aborted < Mechanisms::Interruption; end
    private_constant :ENDED, :Aborted

    # @param options [Mechanisms::Options]
    # @yieldparam scope [Scope]
    # @return [Object] the block's value
    def self.open(options: Mechanisms::Options.new, **settings, &body)
      scope = new(options, **settings)
      seconds = options.deadline&.remaining
      return scope.supervise(&body) unless seconds

      TimeLimit.enforce(seconds, DeadlineExceeded) { scope.supervise(&body) }
    end

    def initialize(options)
      @options = options
      @storage = Mechanisms::State.storage
      @execution = execution
      @limit = Array(options.limit).reduce(:*)
      retried = options.timeout || options.retries.count.positive?
      @attempt = Attempt.new(->(task) { task.block.call(*task.arguments) }, options) if retried
      clear
    end

    # Starts a block as a task of this scope, or queues it while `limit` tasks are running. Tasks may start further ones.
    # @param arguments [Array] passed to the block; under :processes and :ractors they are copied
    # @return [Task]
    # @raise [UsageError] after the scope is over
    def async(*arguments, &block)
      raise UsageError, "async needs a block to run" unless block

      task = Task.new(self, block, arguments)
      take_on(task)
      task
    end

    # Cancels all tasks. Does not wait for them.
    # @return [void]
    def cancel
      waiting, running = synchronize { [@backlog.slice!(0..), @running.keys] }
      waiting.each { |task| finish(task, nil, CancelledError.new) }
      running.each { |task| interrupt(task) }
    end

    # @api private
    def supervise
      value = body { yield self }
      wait_for_all
      settle
      finished = true
      value
    rescue Exception => e # rubocop:disable Lint/RescueException -- an exception that ends the block ends its tasks
      end_tasks
      finished = true
      settle
      raise e # by name: on JRuby, cancelling the others has overwritten $!
    ensure
      end_tasks unless finished # break, throw, return, or an interruption of their end
    end

    # @api private
    def cancel_task(task)
      queued = synchronize { @backlog.delete(task) }
      return finish(task, nil, CancelledError.new) if queued

      interrupt(task) unless task.done?
    end

    # Takes a task back that has not started, since the system gave no thread for it.
    # @return [Boolean] false: it has started
    # @api private
    def withdraw(task) = !synchronize { @backlog.delete(task) }.nil?

    # @api private
    # @raise [UsageError] when that would never end
    def wait_for(task)
      return wait_until { task.done? } if runner.equal?(@owner) # which no task waits for

      wait_among_tasks(task)
    end

    protected

    # Called by the subclass where the task runs.
    def perform(task)
      generation = Native.fork_generation
      Mechanisms::State.inherit(@storage)
      value = @execution ? @execution.run { work_on(task) } : work_on(task)
      returned = true
    rescue Mechanisms::Interruption => e
      error = CancelledError.new(*e.instead&.message)
      interrupted(task, e)
    rescue Exception => e # rubocop:disable Lint/RescueException -- it is raised in the scope's caller
      raise if Native.forked_since?(generation) # it ends a child that the task has forked

      error = e
    ensure
      (returned || error ? finish(task, value, error) : thread_ended(task)) unless Native.forked_since?(generation)
    end

    private

    def clear
      @lock = Mutex.new
      @changed = ConditionVariable.new
      @running = {}.compare_by_identity # task => the thread that begins it, or has started for it
      @backlog = []
      @waits = Waits.new
      @waiting = 0
      @open = true
      @cancelled = false
    end

    def synchronize(&block) = @lock.synchronize(&block)

    def end_tasks
      @open = false
      cancel_once
      wait_for_all
    end

    # What interrupts the wait for their end must not interrupt their `ensure` parts.
    def cancel_once
      return if @cancelled

      cancel
      @cancelled = true
    end

    # A task with a thread of its own ends here.
    def interrupted(_task, _interruption) = nil

    # The thread that runs it is about to end, because the task's block has ended it.
    def thread_ended(task, error = WorkerDied.new(ENDED)) = finish(task, nil, error)

    # @return [RailsExecution, nil] of each task
    def execution = RailsExecution.current

    def work_on(task) = @attempt ? attempt(task) : task.block.call(*task.arguments)

    def attempt(task)
      made = task.attempts
      task.attempts += 1
      @attempt.call(0, task, made: made) { |number, _| task.attempts = number }.value!
    end

    def take_on(task) = admit(task) ? (begin_task(task) if @running.key?(task)) : abort_if_failed

    def admit(task)
      synchronize do
        raise UsageError, "this scope is over: it takes no further tasks" unless @open || @failure
        return false if @failure || !@open

        full? ? @backlog << task : @running[task] = Thread.current
      end
      true
    end

    # Where the system gives no further thread or process, the existing ones do the work.
    def begin_task(task)
      start(task)
    rescue ThreadError => e
      return if queue_again(task)

      finish(task, nil, UnsupportedError.no_thread("a task", e))
    end

    # @return [Boolean] whether there are others, at whose end it is tried again
    def queue_again(task)
      synchronize do
        @running.delete(task)
        @backlog.unshift(task) unless @running.empty?
        !@running.empty?
      end
    end

    def abort_if_failed = raise(Aborted)

    # A failure is noted before the task counts as over, so that the owner can't end without it.
    def finish(task, value, error)
      fails = false
      following = synchronize do
        fails = fail_with(error)
        task.complete(value, error)
        @running.delete(task)
        announce
        next_in_line
      end
      begin_task(following) if following
      return unless fails

      cancel
      interrupt_owner
    end

    def full? = @running.size >= (@limit || Float::INFINITY)

    def next_in_line
      return if @backlog.empty? || full?

      task = @backlog.shift
      @running[task] = Thread.current
      task
    end

    # @return [Boolean] whether the error is the first that ends the scope
    def fail_with(error)
      return false if error.nil? || error.is_a?(CancelledError) || @failure
      return false if @options.on_error == :collect && error.is_a?(StandardError)

      @failure = error
      true
    end

    def body(&block)
      guard_owner(&block)
    rescue Mechanisms::Interruption
      raise unless @failure
    end

    def settle = (raise @failure if @failure)

    # @return [Thread, Fiber] the {Task#runner} of a task that runs here
    def runner = Thread.current

    def wait_among_tasks(task)
      synchronize { @waits.enter(runner, task, @running) }
      wait_until { task.done? }
    ensure
      synchronize { @waits.leave(runner) }
    end

    # Until it is closed, another thread may start a task.
    def wait_for_all
      wait_until { over? } until synchronize { close_if_over }
    end

    def close_if_over
      return false unless over?

      @open = false
      true
    end

    def over? = @running.empty? && @backlog.empty?

    # Waits for something that {#announce} tells of.
    def wait_until
      synchronize do
        @waiting += 1
        @changed.wait(@lock) until yield
      ensure
        @waiting -= 1
      end
    end

    def announce = (@changed.broadcast if @waiting.positive?)
  end
end
