# frozen_string_literal: true

require_relative "../../values/errors"
require_relative "../interruption"
require_relative "../scope"
require_relative "../state"
require_relative "body"

module Plait
  class Scope
    # A thread for each task. With `isolate`, the thread only waits while the task runs elsewhere: in a forked process, in
    # a ractor.
    class Threaded < Scope
      Interruption = Mechanisms::Interruption
      # Seconds between two looks at which threads there are, when all shall end.
      LOOK = 0.05
      NEVER = { Object => :never }.freeze
      # A thread inherits the mask of whoever starts it.
      IN_TASKS = { Object => :immediate, Interruption => :never }.freeze
      private_constant :LOOK, :NEVER, :IN_TASKS

      # @param isolate [#call, nil] called with (block, arguments) in the task's thread; yields when the system gives it
      #   nothing to run the block in
      def initialize(options, isolate: nil)
        super(options)
        @isolate = isolate
        @owner = Thread.current
        @postponed = {}.compare_by_identity
        @body = Body.here
      end

      def async(*arguments, &block)
        return super unless @isolate && block

        super { |*values| isolated(block, values) }
      end

      private

      def isolated(block, arguments) = @isolate.call(block, arguments) { postpone }

      # One that was admitted and is not begun would be waited for, for ever.
      def take_on(task) = Thread.handle_interrupt(NEVER) { super }

      # Masked except in the block, so that an interruption can't hit the bookkeeping.
      def start(task)
        Thread.handle_interrupt(Interruption => :never) do
          thread = Thread.new { Thread.handle_interrupt(IN_TASKS) { run(task) } }
          thread.report_on_exception = false
          thread.name = "plait task"
          synchronize { @running[task] = thread if @running.key?(task) }
        end
      end

      def run(task)
        Mechanisms::State.clear # a thread inherits the storage of the fiber that starts it: maybe of a task
        synchronize { task.runner = Thread.current unless task.withdrawn? }
        return finish(task, nil, CancelledError.new) unless task.runner

        Thread.handle_interrupt(Interruption => :immediate) { perform(task) }
      rescue Interruption
        finish(task, nil, CancelledError.new) unless task.done?
      end

      def finish(task, value, error)
        Thread.handle_interrupt(Interruption => :never) do
          next if @postponed.delete(Thread.current)

          synchronize { task.runner = nil }
          super
        end
      end

      def bury(task, error = WorkerDied.new(ENDED))
        @attempt && @options.again?(error, task.attempts) && !task.withdrawn? ? begin_task(task) : super
      end

      # When the main thread ends, it kills all others: those that have not begun by then tell nobody that they have ended.
      def end_tasks
        @open = false
        cancel
        until @running.empty?
          wait_a_moment
          dead_tasks.each { |task| finish(task, nil, CancelledError.new) }
        end
      end

      def wait_a_moment
        synchronize do
          @waiting += 1
          @changed.wait(@lock, LOOK) unless @running.empty?
        ensure
          @waiting -= 1
        end
      end

      def dead_tasks = synchronize { @running.reject { |_, thread| thread.alive? }.keys }

      # Lets a task whose block has not begun wait for one of the others to end, if there are others, and gives up the
      # thread, which they may need.
      def postpone
        task = synchronize { @running.each_key.find { |running| running.runner.equal?(Thread.current) } }
        return if task.nil? || task.withdrawn? || !queue_again(task)

        @postponed[Thread.current] = true
        raise Interruption
      end

      def interrupt(task)
        synchronize do
          task.withdraw
          task.runner&.raise(Interruption.new)
        end
      end

      def interrupt_owner = @body.interrupt

      def guard_owner(&block) = @body.run(&block)
    end
  end
end
