# frozen_string_literal: true

require "plait/mechanisms/interruption"

module Plait
  module HTTP
    class FanOut
      # Calls a block at a moment, in a fiber of whichever scheduler there is.
      class AlarmClock
        # @param loop [Loop]
        # @param deadline [Deadline]
        def initialize(loop, deadline, &block)
          @loop = loop
          @deadline = deadline
          @block = block
          loop.spawn(self)
        end

        # In a fiber; never raises.
        def run
          @fiber = Fiber.current
          sleep(@deadline.remaining) unless @stopped
          @fiber = nil
          @block.call unless @stopped
        rescue Mechanisms::Interruption
          nil
        ensure
          @fiber = nil
          @loop.finished
        end

        # @return [void]
        def stop
          @stopped = true
          fiber = @fiber or return
          @loop.interrupt(fiber, Mechanisms::Interruption.new) { @fiber }
        end
      end
    end
  end
end
