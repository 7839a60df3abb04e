# frozen_string_literal: true

module Plait
  module Lab
    # Median, spread, percentiles and an exact interval of repeated figures.
    # @api private
    class Statistics
      # Values: of fewer than this no percentile but the median is given; raising it leaves out more of them.
      PERCENTILES_FROM = 100
      # Percents that are known of any number of values.
      ENDS = [0, 50, 100].freeze
      private_constant :ENDS

      # @param values [Array<Numeric, nil>]
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
      def median = quantile(0.5)

      # @return [Float]
      def mean = @values.sum.fdiv(n)

      # @return [Float, nil] the standard deviation of a sample; nil of a single value
      def deviation
        return if n < 2

        average = mean
        Math.sqrt(@values.sum { |value| (value - average)**2 } / (n - 1))
      end

      # @param percent [Numeric] 0..100
      # @return [Float, nil] between the two nearest values in proportion (the method R calls type 7); nil with fewer than
      #   {PERCENTILES_FROM} values, but for the median and the ends
      def percentile(percent) = n < PERCENTILES_FROM && !ENDS.include?(percent) ? nil : quantile(percent / 100.0)

      # Where the median of all possible values lies, whatever their distribution. The figures may be looked at after each
      # new value: the intervals of all looks together miss the median with at most this probability.
      # @param alpha [Float] 0..1
      # @return [Array(Numeric, Numeric), nil] two of the values; nil with too few values
      def interval(alpha)
        depth = Boundary.of(alpha).depth(n)
        depth && [@values[depth], @values[-1 - depth]]
      end

      # @return [Hash]
      def to_h = { median: median, min: min, max: max, n: n }

      private

      def quantile(share)
        place = (n - 1) * share
        below = @values[place.floor]
        above = @values[place.ceil]
        (below + ((above - below) * (place - place.floor))).to_f
      end

      # How many of the least and of the greatest values an interval of the median leaves out. Each value is above the median
      # with probability 1/2, so the probabilities are exact: of all sequences of values, the ones that an earlier look
      # would have got wrong are followed no further. A fixed n would allow more, but rounds go on until they settle.
      class Boundary
        # Share of the allowed errors that each depth leaves for the deeper ones; raising it delays the first interval.
        LEFT = 1.0 / 8

        @known = {}

        # @return [Boundary] it remembers what it has computed
        def self.of(alpha) = @known[alpha] ||= new(alpha)

        def initialize(alpha)
          @allowed = alpha / 2.0
          # By how many values are on the wrong side of the median.
          @probabilities = [1.0]
          @spent = 0.0
          @depths = [-1]
        end

        # @return [Integer, nil] nil: no interval of so few values
        def depth(values)
          add_value until @depths.size > values
          @depths[values] unless @depths[values].negative?
        end

        private

        def add_value
          @probabilities = [0.0, *@probabilities].zip([*@probabilities, 0.0]).map { |one, other| (one + other) / 2 }
          deeper = @depths.last + 1
          wrong = @probabilities.first(deeper + 1).sum
          return @depths << @depths.last if @spent + wrong > @allowed * (1 - (LEFT**(deeper + 1)))

          @spent += wrong
          @probabilities.fill(0.0, 0, deeper + 1)
          @depths << deeper
        end
      end
      private_constant :Boundary
    end
  end
end
