# frozen_string_literal: true

require_relative "alarm_clock"
require "plait/mechanisms/interruption"
require "plait/values/errors"

module Plait
  module HTTP
    class FanOut
      # A source that may be lazy, slow or endless. It is read in a fiber of its own, a few items ahead: while it waits for
      # its next item the members go on.
      class Feed
        # @return [Object] the one that was taken last
        attr_reader :item

        # @param items [#each_entry]
        # @param ahead [Integer] items that are read before somebody takes them
        # @param deadline [Deadline, nil] after which it is read no further
        # @param strict [Boolean] whether it is an error that it was not read to its end
        def initialize(items, ahead, deadline: nil, strict: true)
          @source = items
          @ahead = ahead
          @deadline = deadline
          @strict = strict
          @items = []
          @idle = []
          @index = -1
        end

        # @return [Integer, nil] the index of the {item} that was taken, once there is one; nil: there is none
        def take
          while @items.empty?
            return if @finished

            @crew.loop.park { |place| @idle << place }
          end
          @item = @items.shift
          read_on if @items.size <= @ahead / 2
          @index += 1
        end

        # As {take}; nil also where it would have to wait.
        def take_now = (take unless @items.empty?)

        def more? = !@items.empty?

        def over? = @finished && @items.empty?

        # @param crew [Crew]
        def open(crew)
          @crew = crew
          @clock = AlarmClock.new(crew.loop, @deadline) { expire } if @deadline
          crew.loop.spawn(self)
        end

        # In a fiber; never raises.
        def run
          @fiber = Fiber.current
          read unless @finished
        rescue Mechanisms::Interruption => e
          @crew.abort(e) unless @finished
        rescue Exception => e # rubocop:disable Lint/RescueException -- it belongs to the caller
          @crew.abort(e)
        ensure
          @fiber = nil
          finish
          @crew.loop.finished
        end

        # An item that was taken is done with.
        def done(_item) = nil

        # Gives nothing out any more.
        def close
          @items.clear
          stop
        end

        private

        def read
          @source.each_entry do |item|
            break if @finished

            offer(item)
          end
        end

        def offer(item)
          @items << item
          @idle.empty? ? @crew.hire : @crew.loop.wake(@idle.pop)
          @crew.loop.park { |place| @waiting = place } if @items.size >= @ahead
        end

        def read_on
          place = @waiting or return
          @waiting = nil
          @crew.loop.wake(place)
        end

        # What was read is still given out: whoever takes it will find that it is too late.
        def expire
          return if @finished

          stop
          finish
          @crew.abort(DeadlineExceeded.new("the deadline passed before all requests were read from their source")) if @strict
        end

        def stop
          @finished = true
          @clock&.stop
          fiber = @fiber
          return if fiber.nil? || @stopped

          @stopped = true # a second interruption would cut short what the source does at its end
          @crew.loop.interrupt(fiber, Mechanisms::Interruption.new) { @fiber }
        end

        # Whoever waits for an item leaves.
        def finish
          @finished = true
          @clock&.stop
          @crew.loop.wake(@idle.pop) until @idle.empty?
          @crew.loop.nudge
        end
      end
    end
  end
end
