# frozen_string_literal: true

require_relative "environment"
require_relative "judgement"
require_relative "table"
require_relative "tables"
require_relative "text_report"

module Plait
  module Lab
    # Two saved sets of reports, before and after a change. They ran at other times, so their rounds can't be paired: a row is
    # faster or slower where the exact interval of the factor between both says so.
    class Difference
      COLUMNS = ["", "before", "after", "after ÷ before", "said"].freeze
      # Facts about the machine without which figures can't be compared.
      FACTS = %i[plait ruby platform kernel cpu cpus gems].freeze
      # Rows that are named one by one; raising it makes longer notes.
      FEW = 5
      private_constant :COLUMNS, :FACTS, :FEW

      # @return [Integer, nil] ratios that the interval leaves out at each end
      # @api private
      def self.depth(values, others, alpha)
        counts = orders(values, others)
        allowed = counts.sum * (alpha / 2)
        wrong = 0
        left = counts.take_while { |count| (wrong += count) <= allowed }.size
        left.zero? ? nil : left - 1
      end

      # How many of the orders of both samples have 0, 1, 2 … pairs of which the second is less: the coefficients of the Gaussian
      # binomial.
      def self.orders(values, others)
        counts = [1] + ([0] * (values * others))
        (1..values).each do |factor|
          (counts.size - 1).downto(others + factor) { |place| counts[place] -= counts[place - others - factor] }
          (factor...counts.size).each { |place| counts[place] += counts[place - factor] }
        end
        counts
      end
      private_class_method :orders

      # @param before [ReportSet]
      # @param after [ReportSet]
      def initialize(before, after)
        @before, @after = [before, after].map(&:records)
        @depths = Hash.new { |known, key| known[key] = Difference.depth(*key) }
      end

      # @return [Array<Table>] the answers that changed, the rows of each report, and what else differs
      def tables = [answers, *common.map { |title, pairs| rows(title, pairs) }, surroundings].reject(&:empty?)

      # @param markdown [Boolean] as Markdown instead of aligned columns
      # @param rest [Hash] see {ReportSet#lines}
      # @return [Array<String>]
      def lines(markdown: false, **rest)
        form = markdown ? MarkdownReport.new([]) : TextReport.new([], **rest)
        found = form.tables(tables)
        [*found, *("" if found.any?), sentence]
      end

      def to_s = lines.join("\n")

      private

      def sentence
        said = judged.values.tally
        counts = { faster: "faster", slower: "slower", same: "the same", unsettled: "not settled" }
                 .filter_map { |answer, words| "#{said[answer]} #{words}" if said[answer] }
        if judged.empty?
          return "The two files have no row of the same work in common#{": #{left_out}" unless left_out.empty?}."
        end

        "Of #{judged.size} rows #{counts.join(", ")}#{"; #{left_out}" unless left_out.empty?}."
      end

      def answers
        was = by_work(@before)
        lines = by_work(@after).filter_map do |work, answer|
          old = was[work] or next
          [work.last, *[old, answer].map { |one| one[:use] || Quantity::UNKNOWN }] unless old[:use] == answer[:use]
        end
        Table.new("Other answers", ["what the work does", "before", "after"], lines, alignments: %i[left left left])
      end

      def by_work(records)
        records.flat_map do |record|
          record[:answers].map { |answer| [[record.dig(:workload, :title), answer[:work]], answer] }
        end.to_h
      end

      # @return [Hash{Array => Array(String, Hash)}] the title and the row of each row whose speed may be shown
      def measured(records)
        records.each_with_object({}) do |record, found|
          title = record.dig(:workload, :title)
          Tables.new(record).groups.values.flatten.each do |row|
            found[[title, *row.values_at(:group, :label, :items)]] = [title, row]
          end
        end
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
          labels = keys.map { |title, _, label, _| "#{label} (#{title})" }
          "#{where}: #{labels.size > FEW ? "#{labels.size} rows" : labels.join(", ")}" if labels.any?
        end.join("; ")
      end

      def rows(title, pairs)
        lines = pairs.map do |pair|
          before, after = pair.map { |row| row[:wall_s][:median] }
          said = judged[pair] == :unsettled ? "not settled" : judged[pair].to_s
          factor = after / before if before.positive?
          [pair.last[:label], Quantity.seconds(before), Quantity.seconds(after), Quantity.times(factor), said]
        end
        Table.new(title, COLUMNS, lines, alignments: %i[left right right right left])
      end

      def judged
        @judged ||= common.values.flatten(1).each_with_object({}.compare_by_identity) { |pair, all| all[pair] = judge(*pair) }
      end

      # α is shared over all rows, so that equal files call a row slower in 5 % of comparisons at most. What moved all rows
      # between the two runs is no part of that: differences below 5 %, and below the noise of either run, are not settled.
      def judge(one, other)
        low, high = interval(*[one, other].map { |row| seconds(row) }, Judgement::ALPHA / (old.keys & new.keys).size)
        return :unsettled unless low
        return :same if low >= 1 / Judgement::SAME && high <= Judgement::SAME
        return :slower if low > noise
        return :faster if high < 1 / noise

        :unsettled
      end

      def seconds(row) = row[:samples].filter_map { |sample| sample[:wall_s] unless sample[:failure] }.select(&:positive?)

      def noise
        @noise ||= begin
          answers = (@before + @after).flat_map { |record| record[:answers] }
          [Judgement::SAME, *answers.filter_map { |answer| answer[:noise] }].max
        end
      end

      # The exact interval of the factor between two samples (Mann and Whitney, Hodges and Lehmann), whatever their distribution:
      # some of the ratios of all pairs. The number of rounds is known, so that it allows more than {Statistics#interval}.
      # @return [Array(Float, Float), nil] nil with too few values
      def interval(values, others, alpha)
        depth = @depths[[values.size, others.size, alpha]] or return
        ratios = values.product(others).map { |value, other| other / value }.sort
        [ratios[depth], ratios[-1 - depth]]
      end

      def surroundings
        one, other = [@before, @after].map { |records| records.first.fetch(:environment) }
        lines = FACTS.reject { |fact| one[fact] == other[fact] }
                     .map { |fact| [fact.to_s, *[one, other].map { |facts| Environment.words(fact, facts[fact]) }] }
        Table.new("Not the same machine or programs", ["", "before", "after"], lines, alignments: %i[left left left])
      end
    end
  end
end
