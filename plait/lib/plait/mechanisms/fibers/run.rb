# frozen_string_literal: true

require_relative "../interruption"
require_relative "../mechanism"

module Plait
  module Mechanisms
    class Fibers < Mechanism
      # One item on its way through a fiber.
      class Run
        # @return [Integer] the place in the crew that it holds
        attr_reader :slot

        def initialize(crew, attempt, index, item, slot)
          @crew = crew
          @attempt = attempt
          @index = index
          @item = item
          @slot = slot
        end

        # In a fiber; never raises.
        def run
          return if @interrupted

          @fiber = Fiber.current
          outcome = @attempt.call(@index, @item, @slot)
        rescue Interruption => e
          @crew.escalate(e) unless @interrupted
        ensure
          @fiber = nil
          @crew.finish(self, outcome)
          @crew = @attempt = @item = nil # the loop, which is used again, may still refer to this
        end

        # One that has not begun never will.
        def interrupt
          @interrupted = true
          return unless @fiber

          @crew.interrupt(@fiber, Interruption.new) { @fiber }
        end
      end
    end
  end
end
