# frozen_string_literal: true

require_relative "../common/suite"

module Plait
  module Suites
    class Computing < Suite
      # The longest Collatz chain among some numbers: plain Ruby that allocates nothing and never lets go of the GVL.
      module Collatz
        NAME = "computing-ruby"
        UNIT = "ranges"
        DESCRIPTION = "pure Ruby, which holds the GVL: only processes and ractors use more than one core"
        NUMBERS = 40_000
        FIRST = 1_000_000

        # @param first [Integer]
        # @param count [Integer] numbers to try
        # @return [Array(Integer, Integer)] the number with the longest chain, and its length
        def self.longest(first, count)
          best = [first, 0]
          first.upto(first + count - 1) do |number|
            steps = chain(number)
            best = [number, steps] if steps > best[1]
          end
          best
        end

        # @return [Integer] steps from the number to 1
        def self.chain(number)
          steps = 0
          until number == 1
            number = number.even? ? number >> 1 : (3 * number) + 1
            steps += 1
          end
          steps
        end

        # A constant of a module, since a ractor may only run a block whose self it can share.
        BODY = ->((first, count)) { longest(first, count) }

        # @param scale [Numeric] of how many numbers are tried
        # @return [Array<Array(Integer, Integer)>] first number and how many, one pair for each range
        def self.items(count, scale)
          numbers = (NUMBERS * scale).ceil
          Array.new(count) { |index| [FIRST + (index * numbers), numbers].freeze }.freeze
        end

        # @return [String]
        def self.title(count, scale)
          format("Computing in Ruby: the longest Collatz chain in %d × %d numbers", count, (NUMBERS * scale).ceil)
        end
      end
    end
  end
end
