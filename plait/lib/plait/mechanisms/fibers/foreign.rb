# frozen_string_literal: true

require_relative "../../values/errors"
require_relative "../compat"
require_relative "../mechanism"
require_relative "../scheduler"
require_relative "../state"

module Plait
  module Mechanisms
    class Fibers < Mechanism
      # Somebody else's Fiber::Scheduler, with the few verbs of ours that a crew needs.
      class Foreign
        # @return [Scheduler, Foreign]
        def self.adapt(scheduler)
          Compat.install
          scheduler.is_a?(Scheduler) ? scheduler : new(scheduler)
        end

        def initialize(scheduler)
          @scheduler = scheduler
        end

        def spawn(job)
          Fiber.schedule do
            State.begin_fiber
            job.run
          end
        end

        def finished; end

        # @raise [UsageError] its threads have no other way in than to wake a fiber
        def soon
          raise UsageError, "a task on the loop of #{@scheduler.class} can be cancelled in its own thread only"
        end

        # The loop's owner decides what becomes of it.
        def escalate(exception) = raise(exception)

        # Suspends the current fiber until it is woken.
        # @yieldparam fiber [Fiber] for {#wake}
        def park
          yield Fiber.current
          @scheduler.block(self, nil)
        end

        def wake(fiber) = @scheduler.unblock(self, fiber)

        # Ruby's own hook came with 4.0; Async has had a public `raise` of the same meaning for longer.
        def interrupt(fiber, exception)
          return unless yield

          if @scheduler.respond_to?(:fiber_interrupt)
            @scheduler.fiber_interrupt(fiber, exception)
          elsif @scheduler.respond_to?(:raise)
            @scheduler.raise(fiber, exception)
          else
            fiber.raise(exception)
          end
        end
      end
    end
  end
end
