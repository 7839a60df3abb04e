# frozen_string_literal: true

require "plait/cli/command"

module Plait
  module CLI
    class Fetch < Command
      # Durations, counted in buckets that grow with what they hold: percentiles of any number of them in a few kilobytes,
      # each at most a {STEPS}th above the truth. The least and the most are exact.
      class Histogram
        # Buckets between a duration and its double.
        STEPS = 32
        # Seconds; what is shorter counts as this.
        SHORTEST = 1e-6

        # @return [Integer]
        attr_reader :count
        # @return [Float, nil] seconds
        attr_reader :max

        def initialize
          @counts = Hash.new(0)
          @count = 0
        end

        # @param seconds [Numeric]
        # @return [void]
        def add(seconds)
          @counts[bucket(seconds)] += 1
          @count += 1
          @max = seconds if @max.nil? || seconds > @max
        end

        # @param share [Numeric] from 0 to 1: 0.9 is the 90th percentile
        # @return [Float, nil] seconds that this share of the durations does not exceed; nil when there is none
        def quantile(share)
          return if @count.zero?

          left = [(share * @count).ceil, 1].max
          index, = @counts.sort.find { |_, count| (left -= count) <= 0 }
          [ceiling(index), @max].min
        end

        private

        def bucket(seconds) = (Math.log2([seconds / SHORTEST, 1.0].max) * STEPS).floor

        def ceiling(index) = SHORTEST * (2**((index + 1.0) / STEPS))
      end
    end
  end
end
