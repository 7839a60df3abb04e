# frozen_string_literal: true

module Plait
  module Lab
    # The Universal Scalability Law (N. Gunther), fitted to throughputs X at N items at once:
    # X(N) = N × X(1) ÷ (1 + σ(N − 1) + κN(N − 1)). σ is the share of the work that waits for its turn, and κ what items cost
    # each other. With κ above 0 there is a limit from which on more at once is slower.
    # @api private
    class Scalability
      # Limits without which nothing is fitted: three unknowns and one point to check them by.
      LEAST = 4
      # Largest error of the fit at a point, as a share; raising it trusts worse fits.
      ERROR = 0.15
      private_constant :LEAST, :ERROR

      # @return [Float] 0.. the σ of the law
      attr_reader :contention
      # @return [Float] 0.. the κ of the law
      attr_reader :coherence

      # @param points [Hash{Integer => Float}] limit => throughput
      # @return [Scalability, nil] nil with too few points, or where the law does not describe them
      def self.of(points)
        return if points.size < LEAST

        fit = new(points)
        fit if fit.near?
      end

      # @param points [Hash{Integer => Float}] limit => throughput
      def initialize(points)
        @points = points
        @single, @contention, @coherence = coefficients
      end

      # @return [Float] throughput at this limit
      def throughput(limit) = limit * @single / (1 + (contention * (limit - 1)) + (coherence * limit * (limit - 1)))

      # @return [Integer, nil] the limit with the largest throughput; nil where more at once is always faster
      def peak = coherence.positive? && contention < 1 ? [Math.sqrt((1 - contention) / coherence).round, 1].max : nil

      # @return [Boolean] whether the law describes all points
      def near? = @points.all? { |limit, rate| ((throughput(limit) / rate) - 1).abs <= ERROR }

      def to_h = { contention: contention, coherence: coherence, peak: peak }

      private

      # N ÷ X(N) = a + b(N − 1) + cN(N − 1) is linear. Neither b nor c may be negative; where one comes out so it is 0.
      def coefficients
        [[0, 1, 2], [0, 2], [0, 1], [0]].each do |used|
          found = solve(used) or next
          whole = [0, 1, 2].map { |place| used.index(place)&.then { |index| found[index] } || 0.0 }
          return [1 / whole[0], whole[1] / whole[0], whole[2] / whole[0]] if whole[0].positive? && whole.none?(&:negative?)
        end
        [@points.values.max, 1.0, 0.0]
      end

      # Least squares of relative errors, by the normal equations.
      def solve(used)
        rows = @points.map do |limit, rate|
          weight = rate / limit
          [1, limit - 1, limit * (limit - 1)].values_at(*used).map { |value| value * weight }
        end
        products = used.each_index.map do |i|
          used.each_index.map { |j| rows.sum { |row| row[i] * row[j] } } << rows.sum { |row| row[i] }
        end
        eliminate(products)
      end

      # @param matrix [Array<Array<Float>>] symmetric, with the right side as the last column
      def eliminate(matrix)
        size = matrix.size
        size.times do |step|
          pivot = matrix[step][step]
          return nil if pivot.abs < 1e-12

          matrix[step] = matrix[step].map { |value| value / pivot }
          size.times { |row| subtract(matrix, row, step) unless row == step }
        end
        matrix.map(&:last)
      end

      def subtract(matrix, row, step)
        factor = matrix[row][step]
        matrix[row] = matrix[row].zip(matrix[step]).map { |value, other| value - (factor * other) }
      end
    end
  end
end
