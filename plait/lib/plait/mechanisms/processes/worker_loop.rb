# frozen_string_literal: true

require_relative "answers"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # In a worker: runs the items one after another in the main thread.
      class WorkerLoop
        def initialize(attempt, pipes)
          @answers = Answers.new(pipes[:results], pipes[:wakeup])
          @intake = Intake.new(pipes[:items], @answers)
          @attempt = attempt
          @execution = Execution.new(attempt, @answers)
          main = Thread.current
          @generation = Native.fork_generation
          @guard = Guard.new(pipes[:lifeline], stop: -> { main.raise(Interruption.new) }, recall: method(:recall))
        end

        # @param shared [SharedItems, nil] of items to take, before any that are sent
        # @param slot [Integer, nil] of this worker
        # @return [void] when the parent has no more items, or wants this process to end
        def run(shared = nil, slot = nil)
          return unless @answers.start_threads { prepare }

          work if shared.nil? || take_from(shared, slot)
        rescue Interruption, Errno::EPIPE
          nil # EPIPE: the parent is gone
        rescue Exception => e # rubocop:disable Lint/RescueException -- the parent tells it to the caller
          @answers.crash(e) unless forked?
          raise
        ensure
          @guard.leave
        end

        private

        def prepare
          @guard.watch
          @attempt.prepare
        end

        # The parent needs no value before the last one: it is woken when its pipe fills, at a failure, and at the end.
        # @return [Boolean] whether this worker goes on
        def take_from(shared, slot)
          while (index = shared.take(slot))
            failed = nil
            value = @execution.value(index, shared, 0) { |outcome| failed = outcome }
            State.clear
            return false if @guard.stopped? || forked?
            next if failed.nil? && @answers.value(index, value)

            shared.close
            @answers.answer(failed) if failed
            @answers.wake_parent
          end
          @answers.wake_parent
          true
        end

        def work
          while (index, made, payload = @intake.next)
            outcome = @execution.call(index, made, payload, 0)
            State.clear
            break if @guard.stopped? || forked?

            @answers.answer(outcome)
          end
        end

        # @return [Boolean] whether this is a child that the item has forked: the answer is its parent's
        def forked? = Native.fork_generation != @generation

        def recall = @answers.returned(@intake.recall)
      end

      # In a worker: the items that have arrived and wait for their turn.
      class Intake
        def initialize(pipe, answers)
          @pipe = pipe
          @answers = answers
          @reader = FrameReader.new(Frames::BATCH)
          @queue = []
          @listened = true
          @lock = Thread::Mutex.new
        end

        # Waits for the next item.
        # @return [Array(Integer, Integer, String), nil] index, attempts made elsewhere, the item dumped; nil: there will
        #   be no more
        def next
          until (task = shift)
            return if @over

            wake_parent
            @lock.synchronize { wait }
          end
          task
        end

        # @return [Array, nil] as {#next}, but does not wait: nil when none is here
        def shift
          task = @queue.shift
          # Half of them are left: time for the parent to send more, before this process has nothing to do.
          wake_parent if @queue.size == @half
          task
        end

        # Where the parent waits for each answer there is nothing to say.
        def wake_parent = (@answers.wake_parent unless @listened)

        def empty? = @queue.empty?

        # @return [Boolean] whether the parent has closed its end
        def over? = @over

        # Reads the bytes that are there, without waiting.
        # @return [Boolean] whether anything was
        def read
          data = Readiness.read(@pipe, @reader.wanted)
          return false if data == :wait_readable

          data ? take(data) : @over = true
          true
        end

        # Takes out all items that have not started, also from the pipe. Another thread calls it, while the main
        # thread runs an item; when that waits for items itself, there is nothing to take.
        # @return [Array<Integer>] their indexes
        def recall
          return [] unless @lock.try_lock

          begin
            nil while read && !@over
            @queue.slice!(0..).map(&:first)
          ensure
            @lock.unlock
          end
        end

        private

        def wait
          @pipe.wait_readable until read || @over
        end

        # When this process is killed, the parent gives to another what is left in the pipe, and nothing else.
        def take(data)
          @reader.push(data) do |(count, waiting, _), body|
            @queue.concat(Batch.open(count, body))
            @listened = waiting == Frames::LISTENING
          end
          @half = @queue.size / 2 if @queue.size > 1
        end
      end

      # In a worker: runs one item.
      class Execution
        # @return [Boolean] whether the parent learns when each attempt starts: it then ends attempts that don't let
        #   themselves be interrupted, and counts them when the worker dies
        def self.announced?(policy) = policy.timed? || policy.retries.count.positive?

        def initialize(attempt, answers)
          @attempt = attempt
          @answers = answers
          @announced = Execution.announced?(attempt.policy)
          @timed = attempt.policy.timed?
        end

        # @param made [Integer] attempts made by workers that died
        # @param payload [String] the item dumped
        # @yield as {Attempt#call}
        def call(index, made, payload, worker, &note)
          return announced(index, made, payload, worker, &note) if @announced

          @attempt.call(index, load(payload), worker, &note)
        rescue UnmarshalableError => e
          refused(index, made, e, worker)
        end

        # As {Attempt#value}, of an item that this process has by fork.
        def value(index, shared, worker, &failed)
          @attempt.value(index, shared.copy(index), worker, &failed)
        rescue UnmarshalableError => e
          yield refused(index, 0, e, worker)
        end

        private

        def refused(index, made, error, worker)
          now = Deadline.now
          Outcome.new(index: index, item: nil, error: error, attempts: made, started_at: now, finished_at: now, worker: worker)
        end

        def load(payload) = Portable::Value.load(payload, "the item")

        # To load an item runs code of its class, and may need much memory: a worker that dies of that has started it. Its time is
        # limited, too; for the block the clock starts again.
        def announced(index, made, payload, worker)
          @answers.attempt(index, made + 1, @timed ? Deadline.now : 0.0)
          @attempt.call(index, load(payload), worker, made: made) do |number, running|
            @answers.attempt(index, number, running ? Deadline.now : 0.0) if @timed || number > made + 1
            yield number, running if block_given?
          end
        end
      end
    end
  end
end
