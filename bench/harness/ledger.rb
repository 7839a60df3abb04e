# frozen_string_literal: true

require "json"
require_relative "sample"
require_relative "../../plait/lib/plait/lab"

module Bench
  module Harness
    # Keeps what every contestant of one case did in every round, and answers for it.
    class Ledger
      # @return [Case]
      attr_reader :bench_case

      # @param bench_case [Case]
      def initialize(bench_case)
        @bench_case = bench_case
        @entries = Hash.new { |entries, name| entries[name] = {} }
      end

      # @param contestant [Contestant]
      # @param round [Integer]
      # @param entry [Sample, Failure]
      def record(contestant, round, entry) = @entries[contestant.name][round] = entry

      # @param contestant [Contestant]
      # @return [String, nil] why it has no figures, or fewer than it should
      def failure(contestant) = @entries[contestant.name].each_value.grep(Failure).first&.reason

      # @param contestant [Contestant]
      # @return [Boolean] whether it has hung in a round; another one would take as long
      def hung?(contestant) = @entries[contestant.name].each_value.grep(Failure).any?(&:hung)

      # @return [Boolean]
      def plait_failed? = bench_case.plait && !failure(bench_case.plait).nil?

      # @return [Hash{String => Array<String>}] result as JSON => the contestants that gave it
      def results
        @entries.each_with_object({}) do |(name, rounds), found|
          rounds.each_value.grep(Sample).each { |sample| (found[JSON.generate(sample.result)] ||= []) << name }
        end.transform_values(&:uniq)
      end

      # Speed is not shown of those that did different things.
      def mismatch? = results.size > 1

      # @param contestant [Contestant]
      # @param metric [Metric]
      # @return [Hash{Integer => Numeric}] by round; none when results differ
      def figures(contestant, metric)
        return {} if mismatch?

        samples = @entries[contestant.name].select { |_, entry| entry.is_a?(Sample) }
        samples.transform_values { |sample| metric.value(sample) }.compact
      end

      # @return [Plait::Lab::Statistics, nil]
      def summary(contestant, metric) = Plait::Lab::Statistics.of(figures(contestant, metric).values)

      # Plait ÷ the contestant, of the medians.
      # @return [Float, nil]
      def ratio(contestant, metric)
        return unless contestant && bench_case.plait

        figure, other = [bench_case.plait, contestant].map { |one| median(one, metric) }
        figure / other if figure && other&.nonzero?
      end

      # Plait, or another one, ÷ the contestant, the median of the rounds' ratios.
      # @return [Float, nil]
      def paired_ratio(contestant, metric, of: bench_case.plait)
        judgement(metric).against(of.name, contestant.name).ratio if contestant && of
      end

      # @param metric [Metric]
      # @return [Plait::Lab::Judgement] of the contestants' names; Plait is the one that all are held against
      def judgement(metric)
        rounds = @entries.each_value.flat_map(&:keys).uniq.sort
        series = bench_case.contestants.to_h { |one| [one.name, figures(one, metric).values_at(*rounds)] }
        Plait::Lab::Judgement.new(series, reference: bench_case.plait&.name, lower_is_better: metric.lower_is_better?)
      end

      # @param metric [Metric]
      # @return [Contestant, nil]
      def best_peer(metric)
        ranked = bench_case.peers.select { |peer| median(peer, metric) }
        best = metric.best(ranked.map { |peer| median(peer, metric) })
        ranked.find { |peer| median(peer, metric) == best }
      end

      # What a goal judges: the median of Plait, or of the contestant that the goal is of; or its paired ratio to the one that it
      # is against: what slowed a whole round cancels out.
      # @param goal [Goal]
      # @return [Float, nil]
      def judged(goal)
        metric = bench_case.metrics.find { |candidate| candidate.name == goal.metric }
        judged = goal.of ? bench_case.contestant(goal.of) : bench_case.plait
        goal.against ? paired_ratio(bench_case.contestant(goal.against), metric, of: judged) : median(judged, metric)
      end

      private

      def median(contestant, metric) = summary(contestant, metric)&.median
    end
  end
end
