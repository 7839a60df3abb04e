# frozen_string_literal: true

require_relative "judgement"
require_relative "table"

module Plait
  module Lab
    # Which row to use for some work, and how sure that is, as the judgement of the rows that do the work says.
    class Answer
      # Rows: this many are named one by one; raising it makes longer lines.
      FEW = 3

      # @return [Array<Answer>] one of each group
      def self.of(report)
        choices = report.rows.select { |row| row.cell.choice? }
        choices.group_by(&:group).map { |group, rows| new(report, group, rows) }
      end

      # @param rows [Array<Row>] that do the same work
      def initialize(report, group, rows)
        @report = report
        @group = group
        @rows = rows
        @judgement = rows.filter_map(&:judgement).first
      end

      # @return [Boolean] the named row is compared with one item after another
      def in_sequence? = @judgement.nil? || (reference.on == :sequence && @rows.map(&:on).uniq.size > 1)

      # @return [Row, nil] the simplest of the best rows; nil with too few rounds
      def use = @judgement&.best && @judgement.favourite

      # @return [Symbol] see {Judgement#certainty}; :unknown where no row is named
      def certainty = use ? @judgement.certainty : :unknown

      # @return [Float, nil] seconds of the simplest row ÷ seconds of the named one, the median inside each round
      def gain = use && use != reference ? @judgement.against(reference, use).ratio : nil

      # @return [Hash] plain values only, of which {AnswerTable} makes a line
      def to_h
        { work: work, group: @group, use: use&.label, on: use&.on, limit: use&.limit, reference: reference&.label,
          in_sequence: in_sequence?, reference_s: seconds(reference), use_s: seconds(use), ratio: gain, certainty: certainty,
          noise: @judgement&.noise, **beside, note: note, sure: sure }
      end

      private

      def work = [@report.workload.work, @group].compact.reject(&:empty?).join(": ")

      def reference = @judgement&.reference

      def beside = { equals: equals.map(&:label), unsettled: unsettled.map(&:label) }

      # The judgement's lists are about its best row, which may be another one while that is not settled.
      def equals = use && use == @judgement.best ? @judgement.equals : []

      def unsettled = use ? [@judgement.best, *@judgement.unsettled].uniq - [use] : []

      def seconds(row) = use && row.wall.median

      def note = equals.any? ? "equal to #{name(use)}: #{list(equals)}" : nil

      # What is not settled stands here, and what was not measured.
      def sure = [found, *noise, *missing].join("; ")

      def found
        return "no: the results differ" unless @report.agreed?(@group)
        return "not measured" unless @judgement
        return "nothing to compare it with" if @judgement.alone?
        return "no: too few rounds (#{@judgement.rounds})" unless use

        return settled if @judgement.settled?
        return "yes, at most #{Quantity.percent(@judgement.most_lost - 1)} slower than #{list(unsettled)}" if certainty == :near

        "not settled: #{list(unsettled) { |row| " #{Quantity.times(ratio(row))}" }}"
      end

      def settled
        return "yes, the simplest of #{equals.size + 1} equals" if equals.any?

        second = (@judgement.slower - [reference]).min_by { |row| ratio(row) }
        second ? "yes, #{name(second)} takes #{Quantity.times(ratio(second))}" : "yes"
      end

      def ratio(row) = @judgement.against(row, use).ratio

      # A busy machine makes the answer less sure.
      def noise
        return unless use && @judgement.noise > Judgement::SAME && !@judgement.alone?

        "the machine is busy: less than #{Quantity.times(@judgement.noise)} is noise"
      end

      def missing
        { "not measured" => @judgement ? @rows.select(&:untried?) : [], "failed" => @rows.select(&:failed?) }
          .reject { |_, rows| rows.empty? }.map { |what, rows| "#{what}: #{list(rows)}" }
      end

      # A label without the group that stands in the first column already.
      def name(row) = row.label.delete_suffix(", #{@group}")

      def list(rows)
        shown = rows.first(rows.size > FEW + 1 ? FEW : rows.size)
        named = shown.map { |row| "#{name(row)}#{yield(row) if block_given?}" }.join(", ")
        shown.size < rows.size ? "#{named} and #{rows.size - shown.size} more" : named
      end
    end

    # Answers side by side: a line for each, and equal rows as notes.
    class AnswerTable
      # Columns that stay on the narrowest terminal.
      KEPT = %w[use sure?].freeze
      ALIGNMENTS = %i[left left right right left].freeze

      # @param answers [Array<Hash>] see {Answer#to_h}
      def self.of(answers) = new(answers).table

      def initialize(answers)
        @answers = answers
        @notes = answers.filter_map { |answer| answer[:note] }.uniq
      end

      def table
        notes = @notes.map.with_index(1) { |note, number| "[#{number}] #{note}" }
        Table.new("Which to use", columns, @answers.map { |answer| cells(answer) }, alignments: ALIGNMENTS, notes: notes)
      end

      private

      def columns
        before = @answers.all? { |answer| answer[:in_sequence] } ? "in sequence" : "simplest"
        ["what the work does", "use", "#{before} → with it", "faster", "sure?"]
      end

      def cells(answer)
        number = @notes.index(answer[:note])
        [answer[:work], answer[:use]&.delete_suffix(", #{answer[:group]}") || Quantity::UNKNOWN, times(answer),
         answer[:ratio] ? Quantity.times(answer[:ratio]) : "", "#{answer[:sure]}#{" [#{number + 1}]" if number}"]
      end

      def times(answer)
        return "" unless answer[:use]

        rows = [[answer[:reference], answer[:reference_s]], [answer[:use], answer[:use_s]]].uniq
        rows.map { |_, seconds| Quantity.seconds(seconds) }.join(" → ")
      end
    end

    private_constant :Answer, :AnswerTable
  end
end
