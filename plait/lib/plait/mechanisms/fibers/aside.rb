# frozen_string_literal: true

require_relative "../../values/errors"
require_relative "../../values/outcome"
require_relative "../mechanism"
require_relative "../time_limit"
require_relative "crew"
require_relative "loop_thread"

module Plait
  module Mechanisms
    class Fibers < Mechanism
      # Runs the items on an event loop in a thread of its own.
      #
      # For a caller in a fiber that no loop turns: one of its own making, or that of an Enumerator which is asked by `next`.
      # Such a fiber may be suspended in the middle of the run. A loop can't be suspended with it: a scheduler is the whole
      # thread's.
      class Aside < Crew
        def initialize(attempt, limit, offload: false)
          super(attempt, limit)
          @finished = Thread::Queue.new
          @loop_thread = LoopThread.new(@finished, @runs, offload: offload)
          @loop = @loop_thread.loop
        end

        def ready? = !@finished.empty?

        # @raise [Exception] what has broken the loop
        def take
          outcome = @finished.pop
          raise outcome if outcome.is_a?(Exception)
          raise WorkerDied, "a block ended the thread of its event loop (Thread.exit, Thread#kill)" unless outcome

          @pending -= 1
          outcome
        end

        # @raise [Exception] what has broken the loop
        def await_rest(deadline)
          return true if @loop.idle?

          @loop_thread.report_when_idle
          report = deadline ? TimeLimit.enforce(deadline.remaining) { @finished.pop } : @finished.pop
          report.is_a?(Exception) ? raise(report) : true
        rescue TimeoutError => e
          raise if e.equal?(report)

          false
        end

        def cancel
          @settling = true
          @loop.soon { interrupt_all }
          settle
          @kept.grep(Outcome)
        end

        def interrupt(...) = @loop.interrupt(...)

        def remains = @loop_thread.method(:close)

        def close = @loop_thread.close

        private

        def start(run) = @loop.soon { @loop.spawn(run) }

        # One that was interrupted wakes whoever settles.
        def deliver(outcome)
          @finished << outcome if outcome || @settling
        end

        def settle
          @kept = []
          TimeLimit.enforce(GRACE) { @kept << @finished.pop until @runs.empty? || @finished.closed? }
          @kept << @finished.pop until @finished.empty?
        rescue TimeoutError
          nil
        end
      end
    end
  end
end
