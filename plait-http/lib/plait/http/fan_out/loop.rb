# frozen_string_literal: true

require "plait/mechanisms/fibers/pool"
require "plait/mechanisms/scheduler"
require "plait/mechanisms/time_limit"
require "plait/values/errors"

module Plait
  module HTTP
    class FanOut
      # Where the fibers of a crew run: on the loop that the calling fiber lives on already, whoever's it is, or on one that
      # turns in the calling thread while its caller waits.
      class Loop
        # Puts the loop's own turn to an end.
        module Nudge
          def self.dispatch(_scheduler) = nil
        end

        # @return [Loop]
        # @raise [UnsupportedError]
        def self.for_caller = Fiber.current_scheduler ? Shared.new : new

        def initialize
          @scheduler = attach
        end

        # @param job [#run] must not raise, and says {#finished} when it is over
        def spawn(job) = @scheduler.spawn(job)

        # @return [void]
        def finished = @scheduler.finished

        # Lets the fibers run until the block is true; it is asked again after each {#nudge}.
        def wait(&condition) = @scheduler.run_until(&condition)

        # As {wait}, for so many seconds at most.
        def wait_briefly(seconds, &condition)
          over = false
          alarm = @scheduler.after(seconds) { over = true }
          @scheduler.run_until { over || condition.call }
        ensure
          alarm&.cancel
        end

        # Called by a fiber: whoever is in {#wait} looks again.
        def nudge = @scheduler.ready(Nudge)

        # Suspends the current fiber.
        # @yieldparam place [Object] for {#wake}
        def park(&block) = @scheduler.park(&block)

        # @param place [Object]
        def wake(place) = @scheduler.wake(place)

        # Raises an exception in a fiber where it waits.
        # @yieldreturn [Boolean] whether it still concerns that fiber
        def interrupt(fiber, exception, &block) = @scheduler.interrupt(fiber, exception, &block)

        # Waits for fibers that the caller or its source has started by Fiber.schedule and left behind.
        # @param deadline [Deadline, nil]
        # @return [Boolean] whether they ended in time
        def await_rest(deadline)
          return true if @own.nil? || @scheduler.idle?

          deadline ? wait_briefly(deadline.remaining) { @scheduler.idle? } : wait { @scheduler.idle? }
          @scheduler.idle?
        end

        # Ends the loop: cancels the fibers left behind, and gives all `ensure` parts a bounded time.
        # @param grace [Numeric] seconds
        def close(grace)
          return unless @own

          begin
            end_all(grace) unless @scheduler.idle?
          ensure
            @scheduler.abandon unless @scheduler.idle?
            Fiber.set_scheduler(nil)
          end
        end

        private

        def end_all(grace)
          @scheduler.cancel_scheduled
          wait_briefly(grace) { @scheduler.idle? }
        end

        def attach
          existing = Fiber.scheduler
          return Scheduler.new.tap { |own| Fiber.set_scheduler(@own = own) } unless existing
          return existing if existing.is_a?(Scheduler) && existing.home?

          raise UnsupportedError, "this thread has a #{existing.class}, but the call comes from outside its fibers, or from " \
                                  "a blocking one; make it inside one: Fiber.schedule { Plait::HTTP.fan_out(...) }"
        end

        # The calling fiber is one of the loop's own.
        class Shared < Loop
          def wait
            park { |place| @waiting = place } until yield
          ensure
            @waiting = nil
          end

          def wait_briefly(seconds, &condition)
            TimeLimit.enforce(seconds) { wait(&condition) }
          rescue TimeoutError
            nil
          end

          def nudge
            place = @waiting
            @waiting = nil
            wake(place) if place
          end

          def await_rest(_deadline) = true

          def close(_grace) = nil

          private

          def attach = Mechanisms::Fibers::Foreign.adapt(Fiber.current_scheduler)
        end
      end
    end
  end
end
