# frozen_string_literal: true

module Plait
  module Lab
    # Median, spread and ties of a few repeated figures.
    class Statistics
      # Share: two medians that differ by less are equal; raising it makes more ties. Both print as 1.00 ×.
      RESOLUTION = 0.01

      # @param values [Array<Numeric>]
      # @return [Statistics, nil] nil where there is nothing to say
      def self.of(values)
        known = values.compact
        new(known) unless known.empty?
      end

      # @return [Array<Numeric>] ascending
      attr_reader :values

      # @param values [Array<Numeric>] at least one
      def initialize(values)
        raise ArgumentError, "statistics need at least one value" if values.empty?

        @values = values.sort.freeze
      end

      def n = @values.size

      def min = @values.first

      def max = @values.last

      # @return [Float]
      def median = percentile(50)

      # @return [Float]
      def mean = @values.sum.fdiv(n)

      # @return [Float, nil] the standard deviation of a sample; nil of a single value
      def deviation
        return if n < 2

        average = mean
        Math.sqrt(@values.sum { |value| (value - average)**2 } / (n - 1))
      end

      # @param percent [Numeric] 0..100
      # @return [Float] between the two nearest values in proportion (the method R calls type 7)
      def percentile(percent)
        place = (n - 1) * percent / 100.0
        below = @values[place.floor]
        above = @values[place.ceil]
        (below + ((above - below) * (place - place.floor))).to_f
      end

      # @return [Boolean] some value of the one lies between values of the other
      def overlap?(other) = min <= other.max && other.min <= max

      # A single run can't show a tie.
      # @param other [Statistics]
      # @return [Boolean, nil] equal as far as the runs can show; nil when one of the two was run only once
      def tie?(other)
        return nil if n < 2 || other.n < 2

        overlap?(other) || close?(other)
      end

      # The values that are equal to the first one as far as the runs can show.
      # @param ranked [Array<Object>] the best first, by its median
      # @yieldreturn [Statistics] of one
      # @return [Array<Object>] at least one
      def self.leaders(ranked)
        best = yield(ranked.first)
        ranked.select { |one| one.equal?(ranked.first) || yield(one).tie?(best) }
      end

      # @return [Hash]
      def to_h = { median: median, min: min, max: max, n: n }

      private

      def close?(other)
        larger = [median.abs, other.median.abs].max
        (median - other.median).abs <= larger * RESOLUTION
      end
    end
  end
end
