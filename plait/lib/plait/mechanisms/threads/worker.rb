# frozen_string_literal: true

require_relative "../interruption"
require_relative "../mechanism"
require_relative "../state"
require_relative "../../values/errors"
require_relative "../../values/outcome"

module Plait
  module Mechanisms
    class Threads < Mechanism
      # A thread that takes items from a queue until the queue is closed.
      class Worker
        # Seconds that a cancelled body has for its `ensure` blocks before its thread is killed.
        GRACE = 2.0
        NEVER = { Interruption => :never }.freeze
        IMMEDIATE = { Interruption => :immediate }.freeze
        private_constant :NEVER, :IMMEDIATE

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
          @thread = Thread.handle_interrupt(NEVER) do
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
        attr_reader :obituary

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
          outcome = Thread.handle_interrupt(IMMEDIATE) do
            attempt.call(index, item, number, made: made) { |current, _| attempts = current }
          end
          State.clear
          finished << outcome
          over = true
        rescue Interruption
          over = true
          raise
        ensure
          finished << bury(index, item, number, attempts) unless over
        end

        def bury(index, item, number, attempts)
          now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
          error = WorkerDied.new("the thread that ran item #{index} ended before it answered: its block ended it " \
                                 "(Thread.exit, Thread#kill); `next` returns early from a block")
          @obituary = Outcome.new(index: index, item: item, worker: number, attempts: attempts, started_at: now,
                                  finished_at: now, error: error)
        end
      end
    end
  end
end
