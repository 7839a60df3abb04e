# frozen_string_literal: true

require_relative "base"

module Plait
  # A thread that takes items from a queue until the queue is closed.
  class WorkerThread
    # Seconds that a cancelled body has for its `ensure` blocks before its thread is killed.
    GRACE = 2.0

    # Interrupts several workers at once and waits for them together.
    def self.stop(workers)
      workers.each(&:interrupt)
      limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + GRACE
      workers.each { |worker| worker.finish(limit) }
    end

    # @return [Outcome] of an item whose worker ended
    def self.death(index, item, number, attempts)
      now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      error = WorkerDied.new("the thread that ran item #{index} ended before it answered: its block ended it " \
                             "(Thread.exit, Thread#kill); `next` returns early from a block")
      Outcome.new(index: index, item: item, worker: number, attempts: attempts, started_at: now, finished_at: now, error: error)
    end

    # While it waits for an item it refers to nothing of the run but the two queues.
    # @raise [ThreadError] when the system gives no thread
    def initialize(number, queue, finished)
      # Masked from its first instruction on: a thread inherits the mask of its creator.
      @thread = Mechanisms::Interruption.hold { Thread.new { work(number, queue, finished) } }
      @thread.name = "plait worker #{number}"
      @thread.report_on_exception = false
    end

    def interrupt = @thread.raise(Mechanisms::Interruption.new)

    # @param limit [Float] monotonic seconds
    def finish(limit)
      left = limit - Process.clock_gettime(Process::CLOCK_MONOTONIC)
      @thread.kill unless @thread.join([left, 0].max)
    end

    def join = @thread.join

    # @return [Boolean] whether it has ended between two items
    def gone? = @fatal_outcome.nil? && !@thread.alive?

    # @return [Outcome, nil] the last one, of an item that has ended it before the end of the run
    attr_reader :fatal_outcome

    private

    def work(number, queue, finished)
      Mechanisms::State.clear # a thread inherits the storage of the fiber that starts it
      generation = Native.fork_generation
      while Native.fork_generation == generation && (task = queue.pop) # a child that an item has forked takes none
        return perform_all(number, task, finished) if task.is_a?(Series)

        perform(number, task, finished)
        task.clear # on Ruby 4.0 a stale reference to it stays on the stack while the thread waits
      end
    rescue Mechanisms::Interruption
      nil
    end

    # An interruption may arrive only while the body runs: anywhere else it would lose an outcome. Nothing can come
    # between an outcome's being handed over and the item's being over: Ruby looks for a kill at neither.
    def perform(number, task, finished)
      attempt, index, item, made = task
      attempts = made + 1
      outcome = Thread.handle_interrupt(Mechanisms::Interruption::ADMITTED) do # inlined: it runs for each item
        attempt.call(index, item, number, made: made) { |current, _| attempts = current }
      end
      Mechanisms::State.clear
      finished << outcome
      over = true
    rescue Mechanisms::Interruption
      over = true
      raise
    ensure
      finished << record_death(index, item, number, attempts) unless over
    end

    # An interruption may arrive anywhere: what is not done then is no longer needed. One nil says that it is over.
    def perform_all(number, series, finished)
      index = nil
      generation = Native.fork_generation
      Mechanisms::Interruption.admit do
        while Native.fork_generation == generation && (index = series.advance)
          series.perform(index, number) { |outcome| finished << outcome }
          Mechanisms::State.clear
        end
      end
      over = true
    rescue Mechanisms::Interruption
      over = true
    ensure
      finished << (WorkerThread.death(*series.taken(index), number, 1) unless over)
    end

    def record_death(...) = @fatal_outcome = WorkerThread.death(...)
  end
  private_constant :WorkerThread
end
