# frozen_string_literal: true

require_relative "statistics"

module Plait
  module Lab
    # Which of several rows to use, and how sure that is. A round runs each row once, so the two values of one round share
    # what else the machine did then: rows are compared by their ratios inside each round.
    #
    # The comparison starts with a fixed reference. The simplest row that is faster takes its place, until no row is faster
    # than the best one. To compare all rows with the least median instead would call equal rows slower, because of
    # many equal rows the luckiest has the least.
    # @api private
    class Judgement
      # Probability that any answer about equal rows is :faster or :slower.
      ALPHA = 0.05
      # Ratio: rows that differ by no more are the same; raising it calls more rows equal.
      SAME = 1.05
      # Ratio: a row may be named that is slower than another one by no more; raising it names rows after fewer rounds.
      NEAR = 1.10
      # The simplest mechanism first; a composed pair is less simple than each of them.
      MECHANISMS = %i[sequence threads fibers hybrid processes ractors].freeze
      private_constant :MECHANISMS

      # One row held against another.
      #
      # - `ratio` the median of row ÷ other, `low` and `high` its interval: nil with too few rounds
      # - `rounds` in which both were measured
      # - `answer` :faster, :slower, :same or :unsettled
      Comparison = Struct.new(:ratio, :low, :high, :rounds, :answer, keyword_init: true)

      # @param on [Symbol, Array<Symbol>] a mechanism or a composed pair
      # @return [Array<Numeric>] sorts rows by how simple they are
      def self.simplicity(on, limit = nil)
        names = Array(on)
        [names.size, MECHANISMS.index(names.first) || MECHANISMS.size, Array(limit).reduce(1, :*)]
      end

      # What a row that is run twice in each round says of the machine.
      # @param values [Array<Numeric, nil>] by round
      # @param twins [Array<Numeric, nil>] of the same row
      # @return [Float] 1.0, or the factor by which the two differ although they are the same
      def self.noise(values, twins)
        found = new({ twin: twins, row: values }).against(:row, :twin)
        return 1.0 unless %i[faster slower].include?(found.answer)

        [found.ratio, 1 / found.ratio].max
      end

      # @param series [Hash{Object => Array<Numeric, nil>}] the simplest row first: its values by round, nil where it has none
      # @param reference [Object, nil] the row to start with; nil: the first
      # @param lower_is_better [Boolean] as with times
      # @param noise [Float] from 1.0: smaller differences are not settled, see {.noise}
      def initialize(series, reference: nil, lower_is_better: true, noise: 1.0, alpha: ALPHA)
        @series = series
        @reference = reference || series.keys.first
        @lower_is_better = lower_is_better
        @noise = noise
        @alpha = alpha / [series.size - 1, 1].max
        @compared = {}
      end

      # @return [Object] the row that all are held against at first
      attr_reader :reference
      # @return [Float] differences below this factor are not settled
      attr_reader :noise

      # @return [Array<Object>] the simplest first
      def rows = @series.keys

      # @return [Boolean] there is nothing to compare
      def alone? = rows.one?

      # @return [Integer] rounds that a row has at most
      def rounds = @series.each_value.map { |values| values.compact.size }.max

      # @return [Object, nil] the simplest of the best rows; nil with too few rounds
      def best = @best ||= (simplest(winner) if alone? || others(reference).any? { |row| against(row, reference).low })

      # @return [Object, nil] the row with the best median so far, which settles nothing
      def leader
        medians = @series.transform_values { |values| Statistics.of(values)&.median }.compact
        (@lower_is_better ? medians.min_by(&:last) : medians.max_by(&:last))&.first
      end

      # @return [Object, nil] the best row; where that is not settled, the simplest that is near the leader: one round in which
      #   the machine stood still must not make a row the answer that takes twenty times as long
      def favourite = settled? ? best : rows.find { |row| row == leader || near_leader?(row) }

      # @return [Array<Object>] rows that are the same as the best
      def equals = answered(:same)

      # @return [Array<Object>] rows that are slower than the best
      def slower = answered(:slower)

      # @return [Array<Object>] rows that may be faster or slower than the best, or the same
      def unsettled = best ? answered(:unsettled) - [best] : rows

      # @return [Boolean] more rounds would change nothing
      def settled? = unsettled.empty?

      # The intervals share their errors, so this holds for all rows at once, although the rounds chose the favourite (Hsu's
      # comparisons with the best).
      # @return [Float, nil] the factor by which the favourite is slower than the fastest row, at most; nil with too few rounds
      def most_lost
        factors = others(favourite).map { |row| times_as_fast(against(row, favourite)) }
        [1.0, @noise, *factors].max if factors.all?
      end

      # @return [Symbol] :clear, :same (the best has equals), :near (another row may be faster, by {NEAR} at most) or :unsettled
      def certainty
        return equals.empty? ? :clear : :same if settled?

        most_lost&.<=(NEAR) ? :near : :unsettled
      end

      # @return [Comparison] a row held against another; nil: against the best
      def against(row, other = best) = @compared[[row, other]] ||= compare(@series.fetch(row), @series.fetch(other))

      private

      def near_leader?(row)
        ratio = against(row, leader).ratio or return false
        near = [SAME, @noise].max
        @lower_is_better ? ratio <= near : ratio >= 1 / near
      end

      # @return [Float, nil] at most
      def times_as_fast(found) = found.low && (@lower_is_better ? 1 / found.low : found.high)

      def others(row) = rows - [row]

      def answered(answer) = best ? others(best).select { |row| against(row).answer == answer } : []

      def winner
        rows.size.times.inject(reference) do |best, _|
          others(best).find { |row| against(row, best).answer == :faster } or break best
        end
      end

      def simplest(winner) = rows.find { |row| row == winner || against(row, winner).answer == :same }

      def compare(values, others)
        ratios = Statistics.of(values.zip(others).map { |value, other| value.fdiv(other) if value && other&.positive? })
        low, high = ratios&.interval(@alpha)
        Comparison.new(ratio: ratios&.median, low: low, high: high, rounds: ratios&.n || 0, answer: answer(low, high))
      end

      def answer(low, high)
        return :unsettled unless low
        return :same if @noise <= SAME && low >= 1 / SAME && high <= SAME
        return @lower_is_better ? :slower : :faster if low > @noise
        return @lower_is_better ? :faster : :slower if high < 1 / @noise

        :unsettled
      end
    end
  end
end
