# frozen_string_literal: true

require_relative "../scheduler"
require_relative "pool"

module Plait
  module Mechanisms
    class Fibers < Mechanism
      # Runs the items on an event loop in a thread of its own.
      #
      # For a caller in a fiber that no loop turns: one of its own making, or that of an Enumerator which is asked by `next`.
      # Such a fiber may be suspended in the middle of the run. A loop can't be suspended with it: a scheduler is the whole
      # thread's.
      class ThreadedHost < Pool
        def initialize(attempt, limit, finished: Thread::Queue.new)
          super(attempt, limit)
          @width = limit
          @active = 0
          @hand = []
          @finished = finished
          @loop_thread = LoopThread.new(@finished, @runs)
          @loop = @loop_thread.loop
        end

        # From now on so many items run at once. Of more the loop begins one as another ends, without a change of threads.
        def width=(width)
          @width = width
          @loop.soon { fill }
        end

        def finish(run, outcome)
          super
        ensure
          @active -= 1
          fill
        end

        def ready? = !@finished.empty?

        # @raise [Exception] the error that has broken the loop
        def take = receive(@finished.pop)

        # @param outcome [Outcome, Exception, nil] as it was in the queue
        # @raise [Exception] the error that has broken the loop
        def receive(outcome)
          raise outcome if outcome.is_a?(Exception)
          raise WorkerDied, "a block ended the thread of its event loop (Thread.exit, Thread#kill)" unless outcome

          @pending -= 1
          outcome
        end

        # @raise [Exception] the error that has broken the loop
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
          @runs.delete(@hand.shift) until @hand.empty?
          @settling = true
          @loop.soon { interrupt_all }
          settle
          @kept.grep(Outcome)
        end

        def interrupt(...) = @loop.interrupt(...)

        def remains = @loop_thread.method(:close)

        def close = @loop_thread.close

        private

        # In this order: the loop finds the run as an item ends, or is woken for it.
        def start(run)
          @hand << run
          @loop.soon { fill } if @active < @width
        end

        def fill
          while @active < @width && (run = @hand.shift)
            @active += 1
            @loop.spawn(run)
          end
        end

        # An interrupted run wakes {#settle}.
        def deliver(outcome) = (@finished << outcome if outcome || @settling)

        def settle
          @kept = []
          TimeLimit.enforce(GRACE) { @kept << @finished.pop until @runs.empty? || @loop_thread.over? }
          @kept << @finished.pop until @finished.empty?
        rescue TimeoutError
          nil
        end
      end

      # A thread that turns an event loop. While no item runs it refers to nothing of the run but what it is given here.
      class LoopThread
        attr_reader :loop

        # @param finished [Thread::Queue] gets the error that breaks the loop; closed at its end
        # @param runs [Hash{Run => true}] in flight
        # @raise [UnsupportedError] when the system gives no thread
        def initialize(finished, runs)
          @finished = finished
          @runs = runs
          handover = Thread::Queue.new
          # A thread inherits the mask of the thread that starts it.
          @thread = Thread.new { Thread.handle_interrupt(Object => :immediate) { work(handover) } }
          @thread.name = "plait event loop"
          @thread.report_on_exception = false
          @loop = handover.pop || @thread.value # which raises why there is none
        rescue ThreadError => e
          raise UnsupportedError.no_thread("an event loop", e)
        ensure
          @thread&.kill unless @loop
        end

        # @return [Boolean] whether it has ended, and all that it had to say was taken
        def over? = @ended && @finished.empty?

        # Has it put something into the queue once no fiber is left.
        def report_when_idle
          @loop.soon do
            @reporting = true
            @loop.look_again
          end
        end

        # Ends it, and the items in flight.
        def close
          @runs.empty? ? @loop.soon { @over = true } : @thread.kill
          @thread.join
        end

        private

        def work(handover)
          own = Scheduler.new
          Fiber.set_scheduler(own)
          handover << own
          turn_over(own)
        ensure
          handover.close
          @ended = true
          @finished.close
          @runs.empty? ? own&.stop : own&.abandon
          Fiber.set_scheduler(nil)
        end

        # The stacks of idle fibers hold their last job: the block sees the enumerator, which could then not be collected.
        def rest(own)
          own.run_until { @over || (@runs.empty? && own.fibers_to_spare?) || (@reporting && own.idle?) }
          own.end_spare_fibers if @runs.empty?
          report if @reporting && own.idle?
        end

        def report
          @reporting = false
          @finished << true
        end

        # An error that breaks the loop ends the run, whose fibers then want the loop for their `ensure` parts.
        def turn_over(own)
          limit = nil
          begin
            rest(own) until @over
          rescue Exception => e # rubocop:disable Lint/RescueException -- it belongs to the caller
            @finished << e unless limit
            retry if Deadline.now < (limit ||= Deadline.now + Pool::GRACE)
          end
        end
      end
    end
  end
end
