# frozen_string_literal: true

require_relative "../../mechanisms/interruption"
require_relative "../../values/outcome"

module Plait
  module HTTP
    class FanOut
      # One fiber of a crew: takes an item, gets its answer, hands it over, takes the next.
      class Member
        # @param crew [Crew]
        # @param lane [#call, #close] gets answers, one after another
        def initialize(crew, lane)
          @crew = crew
          @lane = lane
        end

        # In a fiber; never raises.
        def run
          return if @cancelled

          @fiber = Fiber.current
          work
        rescue Mechanisms::Interruption => e
          @crew.abort(e) unless @cancelled
        rescue Exception => e # rubocop:disable Lint/RescueException -- it belongs to the caller
          @crew.abort(e)
        ensure
          @fiber = nil
          leave
        end

        # One that has not begun never will.
        # @return [void]
        def cancel
          @cancelled = true
          fiber = @fiber or return
          @crew.loop.interrupt(fiber, Mechanisms::Interruption.new) { @fiber }
        end

        private

        def work
          while (index = @crew.take)
            item = @crew.taken
            @crew.hire
            @crew.deliver(index, item, answer(index, item))
          end
        end

        def answer(index, item)
          value = @lane.call(item)
          @crew.outcomes? ? Outcome.new(index: index, item: item, value: value) : value
        rescue StandardError, ScriptError => e
          Outcome.new(index: index, item: item, error: e)
        end

        def leave
          @lane.close
        ensure
          @crew.left(self)
        end
      end
    end
  end
end
