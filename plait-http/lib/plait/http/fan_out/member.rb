# frozen_string_literal: true

require "plait/mechanisms/interruption"

module Plait
  module HTTP
    class FanOut
      # One fiber of a crew: takes an item, gets its answer, hands it over, takes the next. A request that can be on its way
      # without a fiber is left to the pilot, together with its lane.
      class Member
        # @param crew [Crew]
        # @param lane [Lane] gets answers, one after another; it may have an item already
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
          return if @cancelled # a second interruption would cut its `ensure` parts short

          @cancelled = true
          fiber = @fiber or return
          @crew.loop.interrupt(fiber, Mechanisms::Interruption.new) { @fiber }
        end

        private

        def work
          serve(@lane.index, @lane.item) if @lane.index
          while @lane && (index = @crew.take)
            item = @crew.taken
            @crew.hire
            @lane.load(index, item)
            serve(index, item)
          end
        end

        def serve(index, item)
          response = @lane.call(item, @crew.pilot)
        rescue StandardError, ScriptError => e
          hand_over(index, item, nil, e)
        else
          response ? hand_over(index, item, response) : @lane = nil # else the pilot has the lane now
        end

        def hand_over(index, item, response, error = nil)
          @crew.deliver(index, item, response, error)
          @crew.pause
        end

        def leave
          @crew.give_back(@lane) if @lane
        ensure
          @crew.left(self)
        end
      end
    end
  end
end
