# frozen_string_literal: true

require_relative "../../values/deadline"
require_relative "../../values/errors"
require_relative "../../values/outcome"
require_relative "../mechanism"
require_relative "../no_thread"
require_relative "../scheduler"
require_relative "../time_limit"
require_relative "crew"

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
          begin_loop(offload)
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

        def cancel
          @settling = true
          @loop.soon { interrupt_all }
          settle
          @kept.grep(Outcome)
        end

        def interrupt(...) = @loop.interrupt(...)

        def close
          @runs.empty? ? @loop.soon { @over = true } : @thread.kill
          @thread.join
        end

        private

        def begin_loop(offload)
          begun = Thread::Queue.new
          @thread = Thread.new { work(begun, offload) }
          @thread.name = "plait event loop"
          @thread.report_on_exception = false
          @loop = begun.pop || @thread.value # which raises why there is none
        rescue ThreadError => e
          raise NoThread.for("an event loop", e)
        ensure
          @thread&.kill unless @loop
        end

        def work(begun, offload)
          own = Scheduler.new(offload: offload)
          Fiber.set_scheduler(own)
          begun << own
          turn_over(own)
        ensure
          begun.close
          @finished.close
          own&.abandon unless @runs.empty?
          Fiber.set_scheduler(nil)
        end

        # What breaks the loop ends the run, whose fibers then want the loop for their `ensure` parts.
        def turn_over(own)
          limit = nil
          begin
            own.run_until { @over }
          rescue Exception => e # rubocop:disable Lint/RescueException -- it belongs to the caller
            @finished << e unless limit
            retry if Deadline.now < (limit ||= Deadline.now + GRACE)
          end
        end

        def start(run) = @loop.soon { @loop.spawn(run) }

        # One that was interrupted wakes whoever settles.
        def deliver(outcome)
          @loop.finished
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
