# frozen_string_literal: true

require_relative "ledger"

module Bench
  module Harness
    # The report for people: a table of each case, and one of the goals, as the lab shows its tables.
    class Report
      LEGEND = <<~TEXT
        All contestants of a case ran in one interleaved run, in random order, each round of each in a fresh process that
        does a little of the work beforehand; their results were equal. Figures are medians of the rounds, with the least
        and the most beside them. "plait ÷ it" is the ratio of the medians in the first metric, "paired" the median of the
        ratios inside each round, in which what disturbed a whole round cancels out; with "?" the rounds don't settle which
        is better (fewer than 6 rounds of two contestants settle nothing). Compare inside one run only: on
        another machine, or with other neighbours, wall-clock figures move by factors, CPU time by about a third, ratios
        least.
      TEXT
      TEXT, MARKDOWN = %i[TextReport MarkdownReport].map { |name| Plait::Lab.const_get(name) }
      private_constant :LEGEND, :TEXT, :MARKDOWN

      # @param environment [Hash{Symbol => Object}]
      # @param ledgers [Array<Ledger>]
      def initialize(environment, ledgers)
        @environment = environment
        @ledgers = ledgers
      end

      # @return [String]
      def to_s = [*facts, "", *TEXT.new([]).tables(tables)].join("\n")

      # @param subject [String]
      # @return [String] a page of Markdown, with how to read it
      def page(subject)
        "# bin/bench #{subject}\n\n#{LEGEND}\n#{facts.join("\n")}\n\n#{MARKDOWN.new([]).tables(tables).join("\n")}\n"
      end

      private

      def facts = @environment.map { |name, value| "- #{name}: #{Plait::Lab::Environment.words(name, value)}" }

      # @return [Array<Plait::Lab::Table>]
      def tables
        [*@ledgers.map { |ledger| ledger.mismatch? ? mismatch(ledger) : measured(ledger) }, goals].reject(&:empty?)
      end

      def table(...) = Plait::Lab::Table.new(...)

      def title(ledger) = "#{ledger.bench_case.name}: #{ledger.bench_case.title}"

      def mismatch(ledger)
        rows = ledger.results.map { |result, names| [names.join(", "), result[0, 100]] }
        table("#{title(ledger)}. The results differ, so no speed is shown", ["", "result"], rows, alignments: %i[left left])
      end

      def measured(ledger)
        metrics = ledger.bench_case.metrics
        columns = ["", *metrics.flat_map { |metric| [metric.name, "min–max"] }, "plait ÷ it", "paired"]
        rows = ledger.bench_case.contestants.map { |contestant| row(ledger, contestant) }
        table(title(ledger), columns, rows, notes: notes(ledger))
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

      def pair(summary) = summary ? [number(summary.median), "#{number(summary.min)}–#{number(summary.max)}"] : %w[– –]

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
        table("Goals", %w[case metric goal reached verdict], rows)
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
