# frozen_string_literal: true

require_relative "../../values/errors"
require_relative "../mechanism"
require_relative "../scheduler"
require_relative "../time_limit"
require_relative "crew"
require_relative "foreign"

module Plait
  module Mechanisms
    class Fibers < Mechanism
      # Runs the items on the loop that the calling fiber already lives on, whoever's it is.
      class Guest < Crew
        def initialize(attempt, limit)
          super
          @loop = Foreign.adapt(Fiber.current_scheduler)
          @finished = Thread::Queue.new
        end

        def ready? = !@finished.empty?

        def take
          outcome = @finished.pop
          @pending -= 1
          outcome
        end

        def interrupt(...) = @loop.interrupt(...)

        private

        def start(run) = @loop.spawn(run)

        # An interrupted run delivers nil, which wakes whoever settles.
        def deliver(outcome)
          @finished << outcome
        end

        def settle
          @kept = []
          TimeLimit.enforce(GRACE) { @kept << @finished.pop until @runs.empty? }
        rescue TimeoutError
          nil
        end

        def leftovers
          @kept << @finished.pop until @finished.empty?
          @kept.compact
        end
      end
    end
  end
end
