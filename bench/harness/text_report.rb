# frozen_string_literal: true

require_relative "ledger"
require_relative "table"

module Bench
  module Harness
    # The report for people, in Markdown, so that a run can be kept as it is.
    class TextReport
      LEGEND = <<~TEXT
        All contestants of a case ran in one interleaved run, in random order, each round of each in a fresh process that
        does a little of the work beforehand; their results were equal. Figures are medians of the rounds, with the least
        and the most beside them. "plait ÷ it" is the ratio of the medians in the first metric, "paired" the median of the
        ratios inside each round, in which what disturbed a whole round cancels out; with "?" the rounds don't settle which
        is better (fewer than 6 rounds of two contestants settle nothing). Compare inside one run only: on
        another machine, or with other neighbours, wall-clock figures move by factors, CPU time by about a third, ratios
        least.
      TEXT

      # @param environment [Hash{String => Object}]
      # @param ledgers [Array<Ledger>]
      def initialize(environment, ledgers)
        @environment = environment
        @ledgers = ledgers
      end

      # @return [String]
      def to_s = [head, *@ledgers.map { |ledger| section(ledger) }, goals].compact.join("\n\n")

      # @param subject [String]
      # @return [String] the same as a page of its own, with how to read it
      def page(subject) = "# bin/bench #{subject}\n\n#{LEGEND}\n#{self}\n"

      private

      def head
        @environment.map do |name, value|
          text = value.is_a?(Hash) ? value.map { |gem, version| "#{gem} #{version || "missing"}" }.join(", ") : value
          "- #{name}: #{text}"
        end.join("\n")
      end

      def section(ledger)
        title = "### #{ledger.bench_case.name}: #{ledger.bench_case.title}"
        ledger.mismatch? ? "#{title}\n\n#{mismatch(ledger)}" : "#{title}\n\n#{table(ledger)}"
      end

      def mismatch(ledger)
        lines = ledger.results.map { |result, names| "- #{names.join(", ")}: #{result[0, 100]}" }
        ["The results differ, so no speed is shown:", "", *lines].join("\n")
      end

      def table(ledger)
        metrics = ledger.bench_case.metrics
        columns = ["", *metrics.flat_map { |metric| [metric.name, "min–max"] }, "plait ÷ it", "paired"]
        rows = ledger.bench_case.contestants.map { |contestant| row(ledger, contestant) }
        [Table.new(columns, rows), *notes(ledger)].join("\n\n")
      end

      def notes(ledger)
        ledger.bench_case.contestants.filter_map do |contestant|
          reason = ledger.failure(contestant)
          "#{contestant.name}: #{reason}" if reason
        end
      end

      def row(ledger, contestant)
        cells = ledger.bench_case.metrics.flat_map { |metric| pair(ledger.summary(contestant, metric)) }
        [label(ledger, contestant), *cells, *ratios(ledger, contestant)]
      end

      def label(ledger, contestant)
        name = contestant.floor? ? "#{contestant.name} (floor)" : contestant.name
        ledger.failure(contestant) ? "#{name} *" : name
      end

      def pair(summary)
        summary ? [number(summary.median), "#{number(summary.min)}–#{number(summary.max)}"] : %w[– –]
      end

      def ratios(ledger, contestant)
        return ["", ""] if contestant.plait?

        metric = ledger.bench_case.metrics.first
        [number(ledger.ratio(contestant, metric)), paired(ledger, contestant, metric)]
      end

      # With a question mark where the rounds can't tell which of the two is better.
      def paired(ledger, contestant, metric)
        found = ledger.judgement(metric).against(ledger.bench_case.plait.name, contestant.name)
        found.ratio && found.answer == :unsettled ? "#{number(found.ratio)} ?" : number(found.ratio)
      end

      def goals
        rows = @ledgers.reject(&:mismatch?).flat_map do |ledger|
          ledger.bench_case.goals.map { |goal| goal_row(ledger, goal) }
        end
        "### Goals\n\n#{Table.new(%w[case metric goal reached verdict], rows)}" unless rows.empty?
      end

      def goal_row(ledger, goal)
        figure = ledger.judged(goal)
        [ledger.bench_case.name, goal.metric, goal.to_s, number(figure), goal.verdict(figure)]
      end

      # Three significant digits.
      def number(figure)
        return "–" if figure.nil?
        return figure.round.to_s if figure.abs >= 100 || figure.zero?

        format("%.#{2 - Math.log10(figure.abs).floor}f", figure)
      end
    end
  end
end
