# frozen_string_literal: true

require_relative "../../values/deadline"
require_relative "../../values/errors"
require_relative "../../values/outcome"
require_relative "../mechanism"
require_relative "../scheduler"
require_relative "crew"

module Plait
  module Mechanisms
    class Fibers < Mechanism
      # Runs the items on an event loop in the calling thread, which turns while the caller waits for an outcome.
      class Host < Crew
        # Runs a block in a fiber on a loop of its own, for {Plait.run}.
        # @return [Object] what the block returns
        def self.run(**options, &block)
          host = new(->(*) { Outcome.new(index: 0, item: nil, value: yield) }, 1, **options)
          host.submit(0, nil)
          host.take.value!
        ensure
          host&.close
        end

        def initialize(attempt, limit, offload: false)
          super(attempt, limit)
          @finished = []
          @scheduler = attach(offload)
        end

        def ready? = !@finished.empty?

        def turn
          asked = 0
          @scheduler.run_until(0) { (asked += 1) > 2 } # the ready ones, then the descriptors, once
        end

        def take
          @scheduler.run_until { !@finished.empty? }
          @pending -= 1
          @finished.shift
        end

        def interrupt(...) = @scheduler.interrupt(...)

        def close
          return unless @own

          @scheduler.abandon unless @runs.empty?
          Fiber.set_scheduler(nil)
        end

        private

        # A thread whose scheduler is one of ours, but whose root fiber asks: its loop turns for us.
        def attach(offload)
          existing = Fiber.scheduler
          return Scheduler.new(offload: offload).tap { |own| Fiber.set_scheduler(@own = own) } unless existing
          return existing if existing.is_a?(Scheduler) && existing.home?

          raise UnsupportedError, "this thread has a #{existing.class}, but the call comes from outside its fibers, or " \
                                  "from a blocking one; make it inside one: Fiber.schedule { Plait.map(...) }, or " \
                                  "Async { ... }"
        end

        def start(run)
          @scheduler.spawn(run)
        end

        def deliver(outcome)
          @scheduler.finished
          @finished << outcome if outcome
        end

        def settle
          limit = Deadline.now + GRACE
          @scheduler.run_until(GRACE) { @runs.empty? || Deadline.now > limit }
        end

        def leftovers = @finished.slice!(0..)
      end
    end
  end
end
