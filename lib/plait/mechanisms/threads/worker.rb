# frozen_string_literal: true

require_relative "../interruption"
require_relative "../mechanism"

module Plait
  module Mechanisms
    class Threads < Mechanism
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

        def initialize(number, attempt, queue, finished)
          # Masked from its first instruction on: a thread inherits the mask of its creator.
          @thread = Thread.handle_interrupt(Interruption => :never) do
            Thread.new { work(number, attempt, queue, finished) }
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

        private

        # An interruption may arrive only while the body runs: anywhere else it would lose an outcome.
        def work(number, attempt, queue, finished)
          while (index, item = queue.pop)
            finished << Thread.handle_interrupt(Interruption => :immediate) { attempt.call(index, item, number) }
          end
        rescue Interruption
          nil
        end
      end
    end
  end
end
