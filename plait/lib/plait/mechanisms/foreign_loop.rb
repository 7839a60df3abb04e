# frozen_string_literal: true

require_relative "base"
require_relative "patches"
require_relative "scheduler"

module Plait
  # The Fiber::Scheduler of another library, with the few methods of ours that a pool needs.
  class ForeignLoop
    def self.adapt(scheduler)
      Patches.install
      scheduler.is_a?(Scheduler) ? scheduler : new(scheduler)
    end

    def initialize(scheduler)
      @scheduler = scheduler
    end

    def spawn(job)
      Fiber.schedule do
        Mechanisms::State.begin_fiber
        job.run
      end
    end

    def finished; end

    # @raise [UsageError] its threads have no other way in than to wake a fiber
    def soon
      raise UsageError, "a task on the loop of #{@scheduler.class} can be cancelled in its own thread only"
    end

    # The loop's owner handles it.
    def escalate(exception) = raise(exception)

    # Suspends the current fiber until it is woken.
    # @yieldparam fiber [Fiber] for {#wake}
    def park
      yield Fiber.current
      @scheduler.block(self, nil)
    end

    def wake(fiber) = @scheduler.unblock(self, fiber)

    # Ruby's own hook came with 4.0; Async has had a public `raise` of the same meaning for longer.
    def interrupt(fiber, exception, &valid)
      return interrupt_later(fiber, exception, &valid) if fiber.equal?(Fiber.current)
      return unless yield

      if @scheduler.respond_to?(:fiber_interrupt)
        @scheduler.fiber_interrupt(fiber, exception)
      elsif @scheduler.respond_to?(:raise)
        @scheduler.raise(fiber, exception)
      else
        fiber.raise(exception)
      end
    end

    private

    # No fiber can raise into itself where it waits next.
    def interrupt_later(...)
      Fiber.schedule do
        sleep(0)
        interrupt(...)
      end
    end
  end
  private_constant :ForeignLoop
end
