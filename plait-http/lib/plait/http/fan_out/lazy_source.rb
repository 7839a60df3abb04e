# frozen_string_literal: true

require_relative "loop"

module Plait
  module HTTP
    class FanOut
      # A source that bounds the requests in flight to one origin. A request that has to wait is deferred, and the next request
      # to another origin goes first.
      class PerOrigin
        # Requests deferred, for each one in flight; beyond it the source is read no further.
        DEFERRED = 16
        PREFIX = %r{\Ahttps?://[^/?#]+}i
        KNOWN = 10_000

        # @return [Object] the item that was taken last
        attr_reader :item

        # @param number [Integer] requests in flight to one origin
        # @param limit [Integer] requests in flight in all
        def initialize(source, number, limit, base: nil)
          @source = source
          @number = number
          @room = limit * DEFERRED
          @base = base
          @busy = Hash.new(0)
          @deferred = Hash.new { |hash, origin| hash[origin] = [] }
          @size = 0
          @ready = []
          @parked = []
          @known = {}
        end

        # Waits for an item.
        # @return [Integer, nil] the index of the {item} that was taken; nil: there is none
        def take
          loop do
            index = from_deferred || from_source
            return index if index
            return if @closed || (@size.zero? && @source.over?)

            @pool.scheduler.park { |place| @parked << place } if @size.positive?
          end
        end

        # Called when an item that was taken has its answer.
        def done(item)
          origin = origin_of(item) or return
          @busy.delete(origin) if (@busy[origin] -= 1).zero?
          @ready << origin if @deferred.key?(origin)
          over? ? wake_all : wake
        end

        def more? = !@ready.empty? || (@size < @room && @source.more?)

        def over? = @size.zero? && @source.over?

        def open(pool)
          @pool = pool
          @source.open(pool)
        end

        def expire = @source.expire

        def close
          @closed = true
          @size = 0
          @deferred.clear
          @ready.clear
          @source.close
          wake_all
        end

        private

        def from_deferred
          while (origin = @ready.shift)
            index = from(origin) if @deferred.key?(origin) && @busy[origin] < @number
            return index if index
          end
        end

        def from(origin)
          index, @item = @deferred[origin].shift
          @deferred.delete(origin) if @deferred[origin].empty?
          @size -= 1
          @busy[origin] += 1
          index
        end

        # @return [Integer, nil] nil: none now
        def from_source
          while @size < @room && (index = @source.take)
            @item = @source.item
            origin = origin_of(@item)
            return index if origin.nil? || take_place(origin)

            @deferred[origin] << [index, @item]
            @size += 1
          end
        end

        def take_place(origin)
          return false unless @busy[origin] < @number

          @busy[origin] += 1
        end

        def wake_all
          wake until @parked.empty?
        end

        def wake
          place = @parked.pop
          @pool.scheduler.wake(place) if place
        end

        # @return [String, nil] nil for an object that is no request: sending it raises
        def origin_of(item)
          url = item.is_a?(Hash) ? item[:url] : item
          return url.origin.prefix if url.respond_to?(:origin) && !url.is_a?(String)

          prefix = url.to_s[PREFIX]
          prefix ? (@known[prefix] ||= look_up(prefix)) : @base&.origin&.prefix
        rescue UsageError, ArgumentError, Encoding::CompatibilityError # the last two: bytes that are no text, or UTF-16
          nil
        end

        def look_up(prefix)
          @known.clear if @known.size >= KNOWN
          URL.parse(prefix).origin.prefix
        end
      end

      # A source that is an Array: {take} never waits. Items that are added meanwhile are taken too.
      class ArraySource
        # @return [Object] the one that was taken last
        attr_reader :item

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

        alias take_now take

        # @return [Boolean] whether another worker would find an item
        def more? = @at < @items.size

        # @return [Boolean] whether nothing is left and nothing will come
        def over? = !more?

        def open(_pool) = nil

        def done(_item) = nil

        # The deadline has passed.
        def expire = nil

        # No item is taken any more.
        def close = @at = Float::INFINITY
      end

      # A source that may be lazy, slow or endless. A fiber of its own reads it, a few items ahead: while it waits for its next
      # item the workers go on.
      class LazySource
        include Job

        # @return [Object] the one that was taken last
        attr_reader :item

        # @param ahead [Integer] items that are read before a worker takes them
        # @param strict [Boolean] whether it is an error that it was not read to its end in time
        def initialize(items, ahead, strict: true)
          @source = items
          @ahead = ahead
          @strict = strict
          @items = []
          @idle = []
          @index = -1
        end

        # Waits for an item.
        # @return [Integer, nil] the index of the {item} that was taken; nil: there is none
        def take
          while @items.empty?
            return if @finished

            @pool.scheduler.park { |place| @idle << place }
          end
          @item = @items.shift
          read_on if @items.size <= @ahead / 2
          @index += 1
        end

        # As {take}; nil also where it would have to wait.
        def take_now = (take unless @items.empty?)

        def more? = !@items.empty?

        def over? = @finished && @items.empty?

        def open(pool)
          @pool = pool
          pool.scheduler.spawn(self)
        end

        def done(_item) = nil

        # No item is taken any more.
        def close
          @items.clear
          @finished = true
          cancel
        end

        # It is read no further. The items that were read are still taken; their slots raise DeadlineExceeded.
        def expire
          return if @finished

          finish
          cancel
          @pool.abort(DeadlineExceeded.new("the deadline passed before all requests were read from their source")) if @strict
        end

        private

        def leave
          finish
          @pool.scheduler.finished
        end

        def work
          @source.each_entry do |item|
            break if @finished

            offer(item)
          end
        end

        def offer(item)
          @items << item
          @idle.empty? ? @pool.add_worker : @pool.scheduler.wake(@idle.pop)
          @pool.scheduler.park { |place| @waiting = place } if @items.size >= @ahead
        end

        def read_on
          place = @waiting or return
          @waiting = nil
          @pool.scheduler.wake(place)
        end

        # Workers that wait for an item leave.
        def finish
          @finished = true
          @pool.scheduler.wake(@idle.pop) until @idle.empty?
          @pool.loop.wake_caller
        end
      end
    end
  end
end
