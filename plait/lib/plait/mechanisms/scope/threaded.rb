# frozen_string_literal: true

require_relative "."
require_relative "../patches"
require_relative "../foreign_loop"

module Plait
  class Scope
    # A thread for each task. With `isolate`, the thread only waits while the task runs elsewhere: in a forked process, in
    # a ractor.
    class Threaded < Scope
      Interruption = Mechanisms::Interruption
      # Seconds between two looks at which threads there are, when all shall end.
      LOOK = 0.05
      # A thread inherits the mask of the thread that starts it.
      IN_TASKS = { Object => :immediate, Interruption => :never }.freeze
      private_constant :LOOK, :IN_TASKS

      # @param isolate [#call, nil] called with (block, arguments) in the task's thread; yields when the system gives it
      #   nothing to run the block in
      def initialize(options, isolate: nil)
        super(options)
        @isolate = isolate
        @owner = Thread.current
        @postponed = {}.compare_by_identity
        @body = Body.here
      end

      def async(*arguments, &block) = @isolate && block ? super { |*values| isolated(block, values) } : super

      private

      def isolated(block, arguments) = @isolate.call(block, arguments) { postpone }

      # The scope would wait without end for a task that was admitted and never starts.
      def take_on(task) = Uninterruptible.run { super }

      # Masked except in the block, so that an interruption can't hit the bookkeeping.
      def start(task)
        Interruption.hold do
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

        Interruption.admit { perform(task) }
      rescue Interruption
        finish(task, nil, CancelledError.new) unless task.done?
      end

      def finish(task, value, error)
        Interruption.hold do
          next if @postponed.delete(Thread.current)

          synchronize { task.runner = nil }
          super
        end
      end

      def thread_ended(task, error = WorkerDied.new(ENDED))
        @attempt && @options.again?(error, task.attempts) && !task.withdrawn? ? begin_task(task) : super
      end

      # When the main thread ends, it kills all others: threads that have not started by then never say that they have ended.
      def end_tasks
        @open = false
        cancel_once
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

      # Lets a task whose block has not started wait for one of the others to end, if there are others, and gives up the
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

    # The block of a scope whose tasks run in threads, as they can end it when one of them has failed.
    #
    # This one, in a fiber that no loop turns, they can't: an exception in its thread might reach another fiber, while its
    # own is suspended. It meets the failure when it waits for a task, or at its end.
    class Body
      # @return [Body] for a block that is to run in the current fiber
      def self.here
        return InFiber.new if Fiber.respond_to?(:current_scheduler) && Fiber.current_scheduler

        RUBY_ENGINE != "ruby" || Patches.root? ? InThread.new : new
      end

      def run = yield

      # In the thread of a task.
      def interrupt = nil

      # In the fiber that its thread began with.
      class InThread < Body
        Interruption = Mechanisms::Interruption

        def initialize
          super
          @thread = Thread.current
          @lock = Mutex.new
        end

        # It may be interrupted only in here, and not by itself.
        def run(&block)
          Interruption.hold do
            @lock.synchronize { @running = true }
            Interruption.admit(&block)
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
          @loop = ForeignLoop.adapt(Fiber.current_scheduler)
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

    private_constant :Body
  end
end
