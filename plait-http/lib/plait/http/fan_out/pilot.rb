# frozen_string_literal: true

require_relative "../native_wire"
require "plait/mechanisms/interruption"

module Plait
  module HTTP
    class FanOut
      # The one fiber that waits for the answers to all requests of a crew that are on their way by themselves. A plain answer
      # it hands over, and sends the next request on the same lane; whatever else comes, or does not come, is for a member of
      # the crew. So 10,000 requests in flight need no 10,000 fibers, and a request no switch to a fiber and back.
      class Pilot
        # @return [Boolean] whether there can be one: in C, on Linux
        def self.possible? = defined?(NativeVolley) ? true : false

        # @param crew [Crew]
        def initialize(crew)
          @crew = crew
          @volley = NativeVolley.new
        end

        # @return [NativeVolley] what the wires of lanes are launched into
        attr_reader :volley

        # @return [Boolean] whether it takes anything: on a loop of ours, as long as that turns
        def open? = @volley.open?

        # @return [Boolean] whether it waits for something
        def busy? = @busy

        # Something was launched.
        # @return [true]
        def start
          return true if @busy

          @busy = true
          @crew.loop.spawn(self)
          true
        end

        # In a fiber; never raises.
        def run
          @fiber = Fiber.current
          crew = @crew
          @volley.each_landed { |lane, response| response ? crew.landed(lane, response) : crew.employ(lane) } until @volley.empty?
        rescue Mechanisms::Interruption => e
          @crew.abort(e) unless @cancelled
        rescue Exception => e # rubocop:disable Lint/RescueException -- it belongs to the caller
          @crew.abort(e)
        ensure
          @fiber = nil
          @busy = false
          @crew.pilot_left
        end

        # Ends what is on its way.
        # @return [void]
        def cancel
          @cancelled = true
          @volley.evacuate.each(&:close)
          fiber = @fiber or return
          @crew.loop.interrupt(fiber, Mechanisms::Interruption.new) { @fiber }
        end

        # @return [void]
        def close = @volley.close
      end
    end
  end
end
