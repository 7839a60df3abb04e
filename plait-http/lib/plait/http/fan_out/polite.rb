# frozen_string_literal: true

require_relative "../url"
require "plait/values/errors"

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
    end
  end
end
