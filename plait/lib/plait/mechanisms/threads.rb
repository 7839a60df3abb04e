# frozen_string_literal: true

require_relative "../values/errors"
require_relative "../values/outcome"
require_relative "interruption"
require_relative "mechanism"
require_relative "scope/threaded"
require_relative "state"

module Plait
  module Mechanisms
    # N worker threads on a queue. Waiting overlaps; computing overlaps where the call releases the GVL, and on JRuby.
    class Threads < Mechanism
      DEFAULT_LIMIT = 16

      def default_limit = DEFAULT_LIMIT

      def executor(attempt, limit:) = Workers.new(attempt, limit)

      def scope(options:, &block) = Scope::Threaded.open(options: options, &block)

      # Starts a worker only when an item finds none idle, so that few items start few threads.
      class Workers < Executor
        # @return [Proc] ends workers of a run whose caller is gone
        def self.remains(queue, workers)
          lambda do
            queue.clear
            queue.close
            Worker.stop(workers)
          end
        end

        def initialize(attempt, limit)
          super()
          @attempt = attempt
          @limit = limit
          @queue = Thread::Queue.new
          @finished = Thread::Queue.new
          @workers = []
          @pending = 0
        end

        def prepare(count)
          hire while @workers.size < [count, @limit].min
        end

        # One item in hand for each worker: it need not wait for the caller's thread to be switched to and back.
        def room? = @pending < @limit * 2

        def submit(index, item)
          start_worker if @pending >= @workers.size && @workers.size < @limit
          @pending += 1
          @queue << [@attempt, index, item, 0]
        end

        def ready? = !@finished.empty?

        def take
          outcome = @finished.pop
          outcome = @finished.pop while outcome.error.is_a?(WorkerDied) && tried_again?(outcome)
          @pending -= 1
          outcome
        end

        def cancel
          @queue.clear
          @queue.close
          Worker.stop(@workers)
          Array.new(@finished.size) { @finished.pop }
        end

        def remains = Workers.remains(@queue, @workers)

        def close
          @queue.close
          Worker.stop(@workers) unless @pending.zero?
          @workers.each(&:join)
        end

        private

        # Where the system gives no further thread, the existing threads do the work.
        def start_worker(number = @workers.size)
          hire(number)
        rescue ThreadError => e
          raise UnsupportedError.no_thread("the items", e) if @workers.all?(&:fatal_outcome)

          @limit = @workers.size
        end

        def hire(number = @workers.size)
          @workers[number] = Worker.new(number, @queue, @finished)
        end

        # One that its item has ended: others may wait for it, and that item may be tried again.
        def tried_again?(outcome)
          return false unless @workers[outcome.worker]&.fatal_outcome.equal?(outcome)

          again = @attempt.policy.again?(outcome.error, outcome.attempts)
          @queue << [@attempt, outcome.index, outcome.item, outcome.attempts] if again
          replace(outcome.worker)
          again
        end

        def replace(number)
          @workers[number].join
          start_worker(number)
        end
      end

      # A thread that takes items from a queue until the queue is closed.
      class Worker
        # Seconds that a cancelled body has for its `ensure` blocks before its thread is killed.
        GRACE = 2.0

        # Interrupts several workers at once and waits for them together.
        # @param workers [Array<Worker>]
        def self.stop(workers)
          workers.each(&:interrupt)
          limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + GRACE
          workers.each { |worker| worker.finish(limit) }
        end

        # While it waits for an item it refers to nothing of the run but the two queues.
        # @param queue [#pop] of [attempt, index, item, attempts made]
        # @param finished [#<<]
        # @raise [ThreadError] when the system gives no thread
        def initialize(number, queue, finished)
          # Masked from its first instruction on: a thread inherits the mask of its creator.
          @thread = Interruption.hold do
            Thread.new { work(number, queue, finished) }
          end
          @thread.name = "plait worker #{number}"
          @thread.report_on_exception = false
        end

        def interrupt = @thread.raise(Interruption.new)

        # @param limit [Float] monotonic seconds
        def finish(limit)
          left = limit - Process.clock_gettime(Process::CLOCK_MONOTONIC)
          @thread.kill unless @thread.join([left, 0].max)
        end

        def join = @thread.join

        # @return [Outcome, nil] the last one, of an item that has ended it before the end of the run
        attr_reader :fatal_outcome

        private

        def work(number, queue, finished)
          State.clear # a thread inherits the storage of the fiber that starts it
          while (task = queue.pop)
            perform(number, task, finished)
            task = nil
          end
        rescue Interruption
          nil
        end

        # An interruption may arrive only while the body runs: anywhere else it would lose an outcome. Nothing can come
        # between an outcome's being handed over and the item's being over: Ruby looks for a kill at neither.
        def perform(number, task, finished)
          attempt, index, item, made = task
          attempts = made + 1
          outcome = Thread.handle_interrupt(Interruption::ADMITTED) do # inlined: it runs for each item
            attempt.call(index, item, number, made: made) { |current, _| attempts = current }
          end
          State.clear
          finished << outcome
          over = true
        rescue Interruption
          over = true
          raise
        ensure
          finished << record_death(index, item, number, attempts) unless over
        end

        def record_death(index, item, number, attempts)
          now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
          error = WorkerDied.new("the thread that ran item #{index} ended before it answered: its block ended it " \
                                 "(Thread.exit, Thread#kill); `next` returns early from a block")
          @fatal_outcome = Outcome.new(index: index, item: item, worker: number, attempts: attempts, started_at: now,
                                       finished_at: now, error: error)
        end
      end

      private_constant :Workers
    end
  end
end
