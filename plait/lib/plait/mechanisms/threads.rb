# frozen_string_literal: true

require_relative "scope/threaded"
require_relative "worker_thread"

module Plait
  module Mechanisms
    # N worker threads on a queue. Waiting overlaps; computing overlaps where the call releases the GVL, and on JRuby.
    class Threads < Mechanism
      DEFAULT_LIMIT = 16

      def default_limit = DEFAULT_LIMIT

      # @param finished [Thread::Queue] gets the outcomes
      def executor(attempt, limit:, finished: Thread::Queue.new) = Workers.new(attempt, limit, finished)

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

        # @return [Integer] items submitted and not received
        attr_reader :pending

        def initialize(attempt, limit, finished)
          super()
          @attempt = attempt
          @limit = limit
          @queue = Thread::Queue.new
          @finished = finished
          @workers = []
          @active = @pending = 0
        end

        # From now on so many work at most: others end, each after its item.
        def limit=(limit)
          (@active - limit).times { @queue << false }
          @active = [@active, limit].min
          @limit = limit
          start_worker while @active < [@pending, @limit].min
        end

        def prepare(count)
          hire while @active < [count, @limit].min
        end

        # One item in hand for each worker: it need not wait for the caller's thread to be switched to and back.
        def room? = @pending < @limit * 2

        # @param attempt [#call] runs the item
        # @param made [Integer] attempts made before
        def submit(index, item, attempt = @attempt, made = 0)
          start_worker if @pending >= @active && @active < [@limit, 1].max # an item that is tried again at a later level
          @pending += 1
          @queue << [attempt, index, item, made]
        end

        # Elsewhere than in CRuby two workers might take the same item; and an item may be tried again on another thread.
        def run_all(items, values)
          return false if RUBY_ENGINE != "ruby" || !@attempt.is_a?(Attempt) || @attempt.policy.retries.count.positive?

          series = Series.new(@attempt, items, values)
          employ(series) while @active < [@limit, items.size].min && series.more?
          failure = nil
          @active -= 1 until @active.zero? || (failure = @finished.pop)
          failure
        end

        def ready? = !@finished.empty?

        def take
          outcome = receive(@finished.pop) until outcome
          outcome
        end

        # @param outcome [Outcome] as it was in the queue
        # @param again [Boolean] whether the item may run again
        # @return [Outcome, nil] nil: it does
        def receive(outcome, again: true)
          return if outcome.error.is_a?(WorkerDied) && tried_again?(outcome, again)

          @pending -= 1
          outcome
        end

        def cancel
          @queue.clear
          @queue.close
          WorkerThread.stop(@workers)
          Array.new(@finished.size) { @finished.pop }.compact
        end

        def remains = Workers.remains(@queue, @workers)

        def close
          @queue.close
          WorkerThread.stop(@workers) unless @pending.zero?
          @workers.each(&:join)
        end

        private

        def employ(series)
          start_worker
          @queue << series
        end

        # Where the system gives no further thread, the existing threads do the work.
        def start_worker(number = free_number)
          hire(number)
        rescue ThreadError => e
          raise UnsupportedError.no_thread("the items", e) if @active.zero?

          @limit = @active
        end

        def hire(number = free_number)
          @workers[number] = WorkerThread.new(number, @queue, @finished)
          @active += 1
        end

        def free_number = (@workers.index(&:gone?) if @workers.size > @active) || @workers.size

        # One that its item has ended: others may wait for it, and that item may be tried again.
        def tried_again?(outcome, again)
          return false unless @workers[outcome.worker]&.fatal_outcome.equal?(outcome)

          again &&= @attempt.policy.again?(outcome.error, outcome.attempts)
          @queue << [@attempt, outcome.index, outcome.item, outcome.attempts] if again
          replace(outcome.worker)
          start_worker if again && @active.zero? # all that are there have to end first
          again
        end

        def replace(number)
          @workers[number].join
          @active -= 1
          start_worker(number)
        end
      end
    end
    private_constant :Threads
  end
end
