# frozen_string_literal: true

require_relative "../../values/deadline"
require_relative "../../values/errors"
require_relative "../mechanism"
require_relative "../scheduler"
require_relative "crew"
require_relative "supply"

module Plait
  module Mechanisms
    class Fibers < Mechanism
      # Runs the items on an event loop in the calling thread, which turns while the caller waits for an outcome.
      class Host < Crew
        def initialize(attempt, limit, offload: false)
          super(attempt, limit)
          @finished = []
          @loop = attach(offload)
        end

        def ready? = !@finished.empty?

        def turn
          asked = 0
          @loop.run_until(0) { (asked += 1) > 2 } # the ready ones, then the descriptors, once
        end

        def supply(source, deadline, hasty:)
          @supply = Supply.new(@loop, source, deadline) { hasty && @failed }
        end

        def take
          @loop.run_until { !@finished.empty? }
          @pending -= 1
          @finished.shift
        end

        def interrupt(...) = @loop.interrupt(...)

        def await_rest(deadline)
          return true if @own.nil? || @loop.idle?

          late = false
          alarm = @loop.after(deadline.remaining) { late = true } if deadline
          @loop.run_until { @loop.idle? || late }
          @loop.idle?
        ensure
          alarm&.cancel
        end

        def close
          return unless @own

          begin
            @runs.empty? && (@supply.nil? || @supply.over?) ? @loop.stop : @loop.abandon
          ensure
            Fiber.set_scheduler(nil)
          end
        end

        private

        # A thread whose scheduler is one of ours, but whose root fiber asks: its loop turns for us.
        def attach(offload)
          existing = Fiber.scheduler
          return Scheduler.new(offload: offload).tap { |own| Fiber.set_scheduler(@own = own) } unless existing
          return existing if existing.is_a?(Scheduler) && existing.home?

          raise UnsupportedError, "this thread has a #{existing.class}, but the call comes from outside its fibers; make it " \
                                  "inside one: Fiber.schedule { Plait.map(...) }, or Async { ... }"
        end

        def start(run)
          @loop.spawn(run)
        end

        def deliver(outcome)
          return unless outcome

          @failed = true unless outcome.ok?
          @finished << outcome
        end

        def settle
          limit = Deadline.now + GRACE
          @loop.run_until(GRACE) { @runs.empty? || Deadline.now > limit }
        end

        def leftovers = @finished.slice!(0..)
      end
    end
  end
end
