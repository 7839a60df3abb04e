# frozen_string_literal: true

require_relative "../values/quantity"
require_relative "judgement"
require_relative "statistics"
require_relative "table"
require_relative "text_report"

module Plait
  module Lab
    # Two saved sets of reports, before and after a change. They ran at other times, so their rounds can't be paired: a row is
    # faster or slower where the exact intervals of both medians say so.
    class Difference
      COLUMNS = ["", "before", "after", "after ÷ before", "said"].freeze
      # Facts about the machine without which figures can't be compared.
      FACTS = %i[plait ruby platform kernel cpu cpus gems].freeze
      # Rows that are named one by one; raising it makes longer notes.
      FEW = 5
      private_constant :COLUMNS, :FACTS, :FEW

      # @param before [ReportSet]
      # @param after [ReportSet]
      def initialize(before, after)
        @before, @after = [before, after].map(&:records)
      end

      # @return [Array<Table>] the answers that changed, the rows of each report, and what else differs
      def tables = [answers, *common.map { |title, pairs| rows(title, pairs) }, surroundings].reject(&:empty?)

      # @param markdown [Boolean] as Markdown instead of aligned columns
      # @param rest [Hash] see {ReportSet#lines}
      # @return [Array<String>]
      def lines(markdown: false, **rest)
        form = markdown ? MarkdownReport.new([]) : TextReport.new([], **rest)
        [*form.tables(tables), "", sentence]
      end

      def to_s = lines.join("\n")

      private

      def sentence
        said = judged.values.tally
        counts = { faster: "faster", slower: "slower", same: "the same", unsettled: "not settled" }
                 .filter_map { |answer, words| "#{said[answer]} #{words}" if said[answer] }
        return "The two files have no row in common." if judged.empty?

        "Of #{judged.size} rows #{counts.join(", ")}#{"; #{left_out}" unless left_out.empty?}."
      end

      def answers
        was = by_work(@before)
        lines = by_work(@after).filter_map do |work, answer|
          old = was[work] or next
          [work, *[old, answer].map { |one| one[:use] || Quantity::UNKNOWN }] unless old[:use] == answer[:use]
        end
        Table.new("Other answers", ["what the work does", "before", "after"], lines, alignments: %i[left left left])
      end

      def by_work(records) = records.flat_map { |record| record[:answers] }.to_h { |answer| [answer[:work], answer] }

      # @return [Hash{Array => Array(String, Hash)}] the title and the row of each measured row
      def measured(records)
        records.flat_map do |record|
          rows = record[:rows].select { |row| row[:n].positive? }
          rows.map do |row|
            [[record.dig(:workload, :name), row[:group], row[:label], row[:items]], [record.dig(:workload, :title), row]]
          end
        end.to_h
      end

      def old = @old ||= measured(@before)

      def new = @new ||= measured(@after)

      # @return [Hash{String => Array<Array(Hash, Hash)>}] pairs of rows by the title of their report
      def common
        @common ||= begin
          pairs = (old.keys & new.keys).map { |key| [new[key].first, [old[key].last, new[key].last]] }
          pairs.group_by(&:first).transform_values { |some| some.map(&:last) }
        end
      end

      def left_out
        { "only before" => old.keys - new.keys, "only after" => new.keys - old.keys }.filter_map do |where, keys|
          labels = keys.map { |key| key[2] }
          "#{where}: #{labels.size > FEW ? "#{labels.size} rows" : labels.join(", ")}" if labels.any?
        end.join("; ")
      end

      def rows(title, pairs)
        lines = pairs.map do |pair|
          before, after = pair.map { |row| row[:wall_s][:median] }
          said = judged[pair] == :unsettled ? "not settled" : judged[pair].to_s
          [pair.last[:label], Quantity.seconds(before), Quantity.seconds(after), Quantity.times(after / before), said]
        end
        Table.new(title, COLUMNS, lines, alignments: %i[left right right right left])
      end

      def judged
        @judged ||= common.values.flatten(1).each_with_object({}.compare_by_identity) { |pair, all| all[pair] = judge(*pair) }
      end

      # α is shared over all rows and both medians, so that equal files call a row slower in 5 % of comparisons at most.
      def judge(one, other)
        alpha = Judgement::ALPHA / (old.keys & new.keys).size / 2
        low, high, other_low, other_high = [one, other].flat_map { |row| interval(row, alpha) }
        return :unsettled unless low && other_low
        return :slower if other_low > high
        return :faster if other_high < low

        other_high / low <= Judgement::SAME && other_low / high >= 1 / Judgement::SAME ? :same : :unsettled
      end

      def interval(row, alpha)
        Statistics.of(row[:samples].map { |sample| sample[:wall_s] unless sample[:failure] })&.interval(alpha) || [nil, nil]
      end

      def surroundings
        one, other = [@before, @after].map { |records| records.first.fetch(:environment) }
        lines = FACTS.reject { |fact| one[fact] == other[fact] }
                     .map { |fact| [fact.to_s, *[one, other].map { |facts| shown(facts[fact]) }] }
        Table.new("Not the same machine or programs", ["", "before", "after"], lines, alignments: %i[left left left])
      end

      def shown(value) = value.is_a?(Hash) ? value.map { |name, version| "#{name} #{version}" }.join(", ") : value.to_s
    end
  end
end
