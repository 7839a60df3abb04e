# frozen_string_literal: true

require_relative "../../values/errors"
require_relative "../interruption"
require_relative "../scope"
require_relative "body"

module Plait
  class Scope
    # A thread for each task. With `isolate`, the thread only waits while the task runs elsewhere: in a forked process, in
    # a ractor.
    class Threaded < Scope
      Interruption = Mechanisms::Interruption

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

      # Masked except in the block, so that an interruption can't hit the bookkeeping.
      def start(task)
        Thread.handle_interrupt(Interruption => :never) do
          thread = Thread.new { run(task) }
          thread.report_on_exception = false
          thread.name = "plait task"
        end
      end

      def run(task)
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
