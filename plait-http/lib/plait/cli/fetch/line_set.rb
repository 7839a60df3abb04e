# frozen_string_literal: true

require "plait/cli/command"

module Plait
  module CLI
    class Fetch < Command
      # Numbers of lines, as ranges without gaps: those that are finished are nearly all of the first ones, however many
      # millions, so that the ranges stay few.
      class LineSet
        # @param ranges [Array<Array(Integer, Integer)>] first and last of each, in ascending order
        def initialize(ranges = [])
          @firsts = ranges.map(&:first)
          @lasts = ranges.map(&:last)
        end

        # @param number [Integer]
        # @return [Boolean] whether it was new
        def add(number)
          place = after(number)
          return false if within?(place - 1, number)

          joins_left = place.positive? && @lasts[place - 1] == number - 1
          joins_right = @firsts[place] == number + 1
          insert(place, number, joins_left, joins_right)
          true
        end

        # @param number [Integer]
        # @return [Boolean]
        def include?(number) = within?(after(number) - 1, number)

        # @return [Integer]
        def size = @firsts.zip(@lasts).sum { |first, last| last - first + 1 }

        # @return [Array<Array(Integer, Integer)>]
        def to_a = @firsts.zip(@lasts)

        private

        # @return [Integer] the place of the first range that begins after the number
        def after(number) = @firsts.bsearch_index { |first| first > number } || @firsts.size

        def within?(place, number) = !place.negative? && number <= @lasts[place]

        def insert(place, number, joins_left, joins_right)
          if joins_left && joins_right then bridge(place)
          elsif joins_left then @lasts[place - 1] = number
          elsif joins_right then @firsts[place] = number
          else
            @firsts.insert(place, number)
            @lasts.insert(place, number)
          end
        end

        def bridge(place)
          @firsts.delete_at(place)
          @lasts.delete_at(place - 1)
        end
      end
    end
  end
end
