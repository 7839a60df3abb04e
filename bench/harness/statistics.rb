# frozen_string_literal: true

module Bench
  module Harness
    # Medians and ratios. Medians, since one disturbed round must not move the figure.
    module Statistics
      # What is told of one contestant in one metric.
      Summary = Struct.new(:median, :min, :max, :n, keyword_init: true)

      module_function

      # @param figures [Array<Numeric>]
      # @return [Float, nil] nil for an empty array
      def median(figures)
        return if figures.empty?

        sorted = figures.sort
        middle = sorted.size / 2
        sorted.size.odd? ? sorted[middle].to_f : (sorted[middle - 1] + sorted[middle]) / 2.0
      end

      # @param figures [Array<Numeric>]
      # @return [Summary, nil]
      def summary(figures)
        return if figures.empty?

        Summary.new(median: median(figures), min: figures.min, max: figures.max, n: figures.size)
      end

      # @return [Float, nil] nil where one of the two is missing or the divisor is zero
      def ratio(figure, other)
        figure.fdiv(other) if figure && other && !other.zero?
      end

      # The median of the ratios inside each round: what disturbs a whole round, a neighbour on the machine, cancels
      # out.
      # @param figures [Hash{Integer => Numeric}] by round
      # @param others [Hash{Integer => Numeric}] by round
      # @return [Float, nil]
      def paired_ratio(figures, others)
        median(figures.filter_map { |round, figure| ratio(figure, others[round]) })
      end
    end
  end
end
