# frozen_string_literal: true

require_relative "../values/errors"
require_relative "mechanism"
require_relative "scope/threaded"
require_relative "worker_thread"

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
            WorkerThread.stop(workers)
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
          WorkerThread.stop(@workers)
          Array.new(@finished.size) { @finished.pop }
        end

        def remains = Workers.remains(@queue, @workers)

        def close
          @queue.close
          WorkerThread.stop(@workers) unless @pending.zero?
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
          @workers[number] = WorkerThread.new(number, @queue, @finished)
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

      private_constant :Workers
    end
    private_constant :Threads
  end
end
