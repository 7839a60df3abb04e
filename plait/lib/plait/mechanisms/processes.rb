# frozen_string_literal: true

require "etc"
require_relative "portable"
require_relative "processes/forking"
require_relative "processes/child_process"
require_relative "processes/frames"
require_relative "processes/answers"
require_relative "processes/pool"
require_relative "processes/worker_loop"
require_relative "scope/threaded"

module Plait
  module Mechanisms
    # A pool of forked processes: everything runs truly in parallel. The block and what it closes over reach the workers by
    # fork, which copies nothing until it is written to; items and results travel by Marshal through pipes.
    #
    # An item is run at most once, unless there are retries. When a worker dies, only the item that it was running is
    # reported as {WorkerDied} (or run again); its waiting items go to others, and a new worker takes its place.
    class Processes < Mechanism
      # Workers at most, whatever the limit: each has a place that is looked at for each item, and no machine runs as many.
      MOST = 10_000

      def default_limit = Etc.nprocessors

      def unavailable
        return Mechanism.beyond_this_place("fork workers") if Process.respond_to?(:fork)

        "#{RUBY_ENGINE} on #{RUBY_PLATFORM} can't fork; use on: :threads"
      end

      def executor(attempt, limit:)
        Pool.new(attempt, Array.new([limit, MOST].min, 1), sharing: true) do |pipes, _, *shared|
          WorkerLoop.new(attempt, pipes).run(*shared)
        end
      end

      # Each task in a process forked for it.
      def scope(**options, &block) = TaskScope.open(**options, isolate: Isolated, &block)

      # One call in a child forked for it, for the tasks of {Plait.run}.
      class Isolated
        # Seconds between two looks at whether the child lives.
        LOOK = 0.5
        # Seconds to go on trying while the system refuses a process.
        PATIENCE = 0.3

        # @param arguments [Array] passed by fork: they need not be marshalable
        # @return [Object] the block's value
        # @yield before {UnsupportedError} is raised: the block has not started
        # @raise [Exception] the block's error
        # @raise [WorkerDied]
        # @raise [UnmarshalableError]
        # @raise [UnsupportedError] when the system does not allow another process
        def self.call(block, arguments, &refused) = new.call(block, arguments, &refused)

        def initialize
          @child = ChildProcess.new("plait task", down: %i[lifeline], up: %i[results wakeup])
          @reader = FrameReader.new(Frames::ANSWER)
        end

        # An interruption of the wait interrupts the block too, and ends the child.
        def call(block, arguments, &refused)
          start(refused) { |pipes| perform(pipes, block, arguments) }
          kind, payload = await
          raise Portable::Error.load(payload) if kind == Frames::ERROR

          give_up(Refusal.of(ThreadError.new(payload)), refused) if kind == Frames::REFUSED
          Portable::Value.load(payload, "the value of the task")
        ensure
          ChildProcess.stop([@child], terminate: kind.nil?)
        end

        private

        def start(refused, &perform)
          @child.start(patience: PATIENCE, &perform)
        rescue UnsupportedError => e
          give_up(e, refused)
        end

        def give_up(error, refused)
          refused&.call
          raise error
        end

        # In the child.
        def perform(pipes, block, arguments)
          main = Thread.current
          @generation = Native.fork_generation
          answers = Answers.new(pipes[:results], pipes[:wakeup])
          guard = Guard.new(pipes[:lifeline], stop: -> { main.raise(Interruption.new) })
          return unless answers.start_threads { guard.watch }

          outcome = run(block, arguments)
          answers.answer(outcome) unless forked?
        rescue Interruption, Errno::EPIPE
          nil
        ensure
          guard.leave
        end

        def run(block, arguments)
          started = Deadline.now
          Outcome.new(index: 0, item: nil, value: block.call(*arguments), started_at: started, finished_at: Deadline.now)
        rescue Interruption
          raise
        rescue Exception => e # rubocop:disable Lint/RescueException -- it is raised where the value is asked for
          raise if forked?

          Outcome.new(index: 0, item: nil, error: e, started_at: started, finished_at: Deadline.now)
        end

        # @return [Boolean] whether this is a child that the task has forked: the answer is its parent's
        def forked? = Native.fork_generation != @generation

        def await
          loop do
            over = @child.over?
            data = Readiness.read(@child[:results], @reader.wanted)
            if data.is_a?(String)
              @reader.push(data) { |fields, payload| return [fields.first, payload] }
            else
              raise died if over || data.nil?

              @child[:results].wait_readable(LOOK)
            end
          end
        end

        def died
          @child.kill
          WorkerDied.new("the process #{@child.pid} of this task ended before it answered", status: @child.status)
        end
      end

      # A process for each task, forked by its thread. A task may start further ones: its process has a copy of the scope, is
      # its owner there, and does not end before they have.
      class TaskScope < Scope::Threaded
        LEFT_BEHIND = "this task runs beside the process of the one that asks, which can neither wait for it nor cancel it; " \
                      "give it the value: scope.async(other.value) { |value| ... }"

        # @api private
        def wait_for(task)
          raise UsageError, LEFT_BEHIND if left_behind?(task)

          super
        end

        # @api private
        def cancel_task(task)
          raise UsageError, LEFT_BEHIND if left_behind?(task)

          super
        end

        private

        def isolated(block, arguments)
          body = lambda do |*copies|
            State.inherit(@storage) # the child's thread has none of the gem fiber-storage
            reopen.supervise { block.call(*copies) }
          end
          @isolate.call(body, arguments) { postpone }
        end

        # In the child.
        def reopen
          @left_behind = [*@running.keys, *@backlog]
          clear
          @owner = Thread.current
          @body = Body.here
          self
        end

        def left_behind?(task) = @left_behind&.any? { |other| other.equal?(task) }
      end
    end
    private_constant :Processes
  end
end
