# frozen_string_literal: true

require_relative "fibers"
require_relative "hybrid"
require_relative "processes"
require_relative "processes/answers"
require_relative "processes/pool"
require_relative "processes/worker_loop"
require_relative "threads"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # In a worker: runs several items at once, by the executor of another mechanism.
      #
      # That executor waits for its own items only. So that arriving ones wake it up too, one more item is in it: the
      # wake-up item, which waits for arrivals and ends when there are some. The guard's thread does the reading.
      class ParallelWorkerLoop
        WAKEUP = -1
        # Seconds after which a body that holds up an event loop is interrupted in its place.
        PATIENCE = 0.25

        # @param width [Integer] items at once
        def initialize(inner, width, attempt, pipes)
          @inner = inner
          @width = width
          @attempt = attempt
          @answers = Answers.new(pipes[:results], pipes[:wakeup])
          @intake = Intake.new(pipes[:items], @answers)
          @execution = Execution.new(attempt, @answers)
          @arrivals = Thread::Queue.new
          @running = {}
          @main = Thread.current
          @guard = Guard.new(pipes[:lifeline], stop: method(:stop), recall: method(:recall),
                                               more: { pipes[:items] => method(:read) })
        end

        # @return [void] when the parent has no more items, or wants this process to end
        def run
          Interruption.hold { work }
        rescue Errno::EPIPE
          nil # the parent is gone
        rescue Exception => e # rubocop:disable Lint/RescueException -- the parent tells it to the caller
          @answers.crash(e)
          raise
        ensure
          @guard.leave
        end

        # The inner executor calls it in place of an {Attempt}.
        def call(index, task, worker, made: 0, &note)
          return arrivals if index == WAKEUP

          _, made_elsewhere, payload = task
          @execution.call(index, [made, made_elsewhere].max, payload, worker, &note)
        end

        def policy = @attempt.policy

        private

        def work
          return unless @answers.start_threads { prepare }

          turn until over?
        rescue Interruption
          nil
        ensure
          @ending = true
          @executor&.cancel
          @executor&.close
        end

        # One place for the wake-up item, and one at least for items.
        def prepare
          @guard.watch
          @attempt.prepare
          @executor = @inner.executor(self, limit: @width + 1)
          @executor.prepare(2)
          @executor.submit(WAKEUP, nil)
        end

        def over? = @guard.stopped? || (@intake.over? && @intake.empty? && @running.empty?)

        def turn
          finish(Interruption.admit { @executor.take })
          finish(@executor.take) while @executor.ready?
          start while @running.size < @width && !@intake.empty?
          @intake.wake_parent if @running.size < @width
        end

        def start
          task = @intake.shift
          @running[task[0]] = true
          @executor.submit(task[0], task)
        end

        def finish(outcome)
          return @executor.submit(WAKEUP, nil) if outcome.index == WAKEUP

          @running.delete(outcome.index)
          @answers.answer(outcome)
        end

        # The wake-up item, run by the inner executor.
        def arrivals
          started = Deadline.now
          @arrivals.pop
          @arrivals.clear
          Outcome.new(index: WAKEUP, item: nil, started_at: started, finished_at: Deadline.now)
        end

        # The guard's part.
        # @return [Boolean] whether more may come
        def read
          @arrivals << true if @intake.read
          !@intake.over?
        end

        def recall = @answers.returned(@intake.recall)

        def stop
          @arrivals << true
          sleep(PATIENCE)
          @main.raise(Interruption.new) unless @ending
        end
      end
    end

    # Several processes, each running several items at once on another mechanism: cores for computing, many in flight
    # for waiting. Web servers work like this.
    class Composite < Mechanism
      INNER = { threads: Threads, fibers: Fibers, hybrid: Hybrid }.freeze

      # @param names [Array<Symbol>] :processes, and the mechanism inside of them
      # @raise [UsageError] for any other combination
      def initialize(*names)
        super()
        @names = names.map { |name| name.respond_to?(:to_sym) ? name.to_sym : name }
        outer, inner = @names
        raise UsageError, refusal unless @names.size == 2 && outer == :processes && INNER.key?(inner)

        @outer = Processes.new
        @inner = INNER[inner].new
      end

      def name = @names

      def default_limit = @outer.default_limit * @inner.default_limit

      def limit_for(limit) = limit || default_limit

      def unavailable = @outer.unavailable || @inner.unavailable

      # @param limit [Integer, Array(Integer, Integer)] items in flight in all, or processes and items in each of them
      def executor(attempt, limit:)
        inner = @inner
        Processes::Pool.new(attempt, widths(limit)) do |pipes, width|
          Processes::ParallelWorkerLoop.new(inner, width, attempt, pipes).run
        end
      end

      # Each task in a process forked for it.
      def scope(...) = @outer.scope(...)

      private

      def widths(limit)
        return Array.new([limit.first, Processes::MOST].min, limit.last) if limit.is_a?(Array)

        processes = [limit, @outer.default_limit].min
        Array.new(processes) { |slot| (limit / processes) + (slot < limit % processes ? 1 : 0) }
      end

      def refusal
        pairs = INNER.each_key.map { |inner| "[:processes, #{inner.inspect}]" }
        "on: #{@names.inspect} can't be combined; the pairs are #{pairs.join(", ")}"
      end
    end
    private_constant :Composite
  end
end
