# frozen_string_literal: true

require_relative "../../values/deadline"
require_relative "../mechanism"
require_relative "../no_thread"
require_relative "../scheduler"
require_relative "crew"

module Plait
  module Mechanisms
    class Fibers < Mechanism
      # A thread that turns an event loop. While no item runs it refers to nothing of the run but what it is given here.
      class LoopThread
        # @return [Scheduler]
        attr_reader :loop

        # @param finished [Thread::Queue] gets what breaks the loop; closed at its end
        # @param runs [Hash{Run => true}] what is in flight
        # @raise [UnsupportedError] when the system gives no thread
        def initialize(finished, runs, offload:)
          @finished = finished
          @runs = runs
          begun = Thread::Queue.new
          # What holds interrupts back from whoever starts it holds for it, too.
          @thread = Thread.new { Thread.handle_interrupt(Object => :immediate) { work(begun, offload) } }
          @thread.name = "plait event loop"
          @thread.report_on_exception = false
          @loop = begun.pop || @thread.value # which raises why there is none
        rescue ThreadError => e
          raise NoThread.for("an event loop", e)
        ensure
          @thread&.kill unless @loop
        end

        # Has it put something into the queue once no fiber is left.
        def report_when_idle
          @loop.soon do
            @reporting = true
            @loop.look_again
          end
        end

        # Ends it, and whatever may still be in flight.
        def close
          @runs.empty? ? @loop.soon { @over = true } : @thread.kill
          @thread.join
        end

        private

        def work(begun, offload)
          own = Scheduler.new(offload: offload)
          Fiber.set_scheduler(own)
          begun << own
          turn_over(own)
        ensure
          begun.close
          @finished.close
          @runs.empty? ? own&.stop : own&.abandon
          Fiber.set_scheduler(nil)
        end

        # The stacks of idle fibers hold what they last ran: the block sees the enumerator, whose end nobody would notice.
        def rest(own)
          own.run_until { @over || (@runs.empty? && own.fibers_to_spare?) || (@reporting && own.idle?) }
          own.end_spare_fibers if @runs.empty?
          report if @reporting && own.idle?
        end

        def report
          @reporting = false
          @finished << true
        end

        # What breaks the loop ends the run, whose fibers then want the loop for their `ensure` parts.
        def turn_over(own)
          limit = nil
          begin
            rest(own) until @over
          rescue Exception => e # rubocop:disable Lint/RescueException -- it belongs to the caller
            @finished << e unless limit
            retry if Deadline.now < (limit ||= Deadline.now + Crew::GRACE)
          end
        end
      end
    end
  end
end
