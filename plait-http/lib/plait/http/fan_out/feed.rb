# frozen_string_literal: true

require "plait/mechanisms/interruption"
require "plait/values/errors"
require_relative "../url"

module Plait
  module HTTP
    class FanOut
      # A source that gives out so many requests to one origin at once. What has to wait for its origin is put aside, and the
      # next request to another one goes first.
      class Polite
        # Requests put aside, for each of those in flight; then it is not looked further.
        ASIDE = 16
        PREFIX = %r{\Ahttps?://[^/?#]+}i
        KNOWN = 10_000
        private_constant :PREFIX, :KNOWN

        # @return [Object] the item that was taken last
        attr_reader :item

        # @param source [List, Feed]
        # @param number [Integer] at once
        # @param limit [Integer] in flight in all
        # @param base [URL, nil]
        def initialize(source, number, limit, base: nil)
          @source = source
          @number = number
          @room = limit * ASIDE
          @base = base
          @busy = Hash.new(0)
          @aside = Hash.new { |hash, origin| hash[origin] = [] }
          @size = 0
          @ready = []
          @parked = []
          @known = {}
        end

        # @return [Integer, nil] the index of the {item} that was taken, once there is one; nil: there is none
        def take
          loop do
            index = from_aside || from_source
            return index if index
            return if @closed || (@size.zero? && @source.over?)

            @crew.loop.park { |place| @parked << place } if @size.positive?
          end
        end

        # An item that was taken is done with.
        # @return [void]
        def done(item)
          origin = origin_of(item) or return
          @busy.delete(origin) if (@busy[origin] -= 1).zero?
          @ready << origin if @aside.key?(origin)
          over? ? wake_all : wake
        end

        def more? = !@ready.empty? || (@size < @room && @source.more?)

        def over? = @size.zero? && @source.over?

        def open(crew)
          @crew = crew
          @source.open(crew)
        end

        def close
          @closed = true
          @size = 0
          @aside.clear
          @ready.clear
          @source.close
          wake_all
        end

        private

        def from_aside
          while (origin = @ready.shift)
            index = from(origin) if @aside.key?(origin) && @busy[origin] < @number
            return index if index
          end
        end

        def from(origin)
          index, @item = @aside[origin].shift
          @aside.delete(origin) if @aside[origin].empty?
          @size -= 1
          @busy[origin] += 1
          index
        end

        # @return [Integer, nil] nil: none now
        def from_source
          while @size < @room && (index = @source.take)
            @item = @source.item
            origin = origin_of(@item)
            return index if origin.nil? || claim(origin)

            @aside[origin] << [index, @item]
            @size += 1
          end
        end

        def claim(origin)
          return false unless @busy[origin] < @number

          @busy[origin] += 1
        end

        def wake_all
          wake until @parked.empty?
        end

        def wake
          place = @parked.pop
          @crew.loop.wake(place) if place
        end

        # @return [String, nil] nil for what is no request: whoever sends it will say so
        def origin_of(item)
          url = item.is_a?(Hash) ? item[:url] : item
          return url.origin.prefix if url.respond_to?(:origin) && !url.is_a?(String)

          prefix = url.to_s[PREFIX]
          prefix ? (@known[prefix] ||= look_up(prefix)) : @base&.origin&.prefix
        rescue UsageError, ArgumentError, Encoding::CompatibilityError # the last two of bytes that are no text, or wide ones
          nil
        end

        def look_up(prefix)
          @known.clear if @known.size >= KNOWN
          URL.parse(prefix).origin.prefix
        end
      end

      # A source that is an Array: whoever takes finds the next item at once. Items that are added meanwhile are taken too.
      class List
        # @return [Object] the one that was taken last
        attr_reader :item

        # @param items [Array]
        def initialize(items)
          @items = items
          @at = 0
        end

        # @return [Integer, nil] the index of the {item} that was taken
        def take
          return if @at >= @items.size

          index = @at
          @at = index + 1
          @item = @items[index]
          index
        end

        # As {take}, which never waits here.
        alias take_now take

        # @return [Boolean] whether another member would find something to do
        def more? = @at < @items.size

        # @return [Boolean] whether nothing is left and nothing will come
        def over? = !more?

        def open(_crew) = nil

        # An item that was taken is done with.
        def done(_item) = nil

        # Gives nothing out any more.
        def close = @at = Float::INFINITY
      end
      private_constant :List

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
      private_constant :AlarmClock

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
