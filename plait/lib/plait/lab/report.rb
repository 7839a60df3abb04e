# frozen_string_literal: true

require_relative "agreement"
require_relative "answer"
require_relative "environment"
require_relative "judgement"
require_relative "report_set"
require_relative "row"
require_relative "tables"

module Plait
  module Lab
    # Judges the rows of each group. A group with different results has no judgement: a fast wrong answer is no answer.
    # @api private
    class Ranking
      def initialize(rows, agreement = Agreement.new(rows))
        @rows = rows
        @agreement = agreement
      end

      # @return [Array<Row>] that more rounds would change nothing about
      def settled
        apply
        @rows.group_by(&:group).each_value.flat_map do |rows|
          judgement = rows.filter_map(&:judgement).first
          judgement.nil? || judgement.settled? ? rows : judgement.slower
        end
      end

      # Gives each row the judgement of its group.
      def apply
        contenders = @rows.select { |row| row.measured? && row.cell.choice? && @agreement.comparable?(row) }
        contenders.select! { |row| @agreement.agreed?(row.group) }
        contenders.group_by(&:group).each_value do |group|
          judgement = judge(group)
          group.each { |row| row.judgement = judgement }
        end
      end

      private

      def judge(rows)
        simple = rows.each_with_index.sort_by { |row, place| [Judgement.simplicity(row.on, row.limit), place].flatten }
        Judgement.new(simple.to_h { |row,| [row, row.seconds] }.compare_by_identity, noise: noise(rows))
      end

      # Where other programs keep the processors, small differences are chance, and so are differences between a row and its twin.
      def noise(rows)
        shares = rows.select { |row| Row::ONE_THREAD.include?(row.on) }.filter_map(&:delayed_share)
        [1.0 + (shares.max || 0.0), *rows.map { |row| Judgement.noise(row.seconds, row.twin) }].max
      end
    end

    private_constant :Ranking

    # The findings of a session, ready to be judged, shown and saved.
    class Report
      # See {ReportSet::SCHEMA}.
      SCHEMA = ReportSet::SCHEMA

      # @return [Report] that names what is missing
      # @api private
      def self.unmeasured(workload) = new(workload: workload, rows: workload.cells.map { |cell| Row.new(cell, []) })

      # @return [Workload]
      attr_reader :workload
      # @return [Array<Row>] in the order of the workload's cells
      attr_reader :rows
      # @return [Hash{Symbol => Object}] facts about the machine and its programs
      attr_reader :environment
      # @return [Integer] the order of the trials follows from it
      attr_reader :seed
      # @return [Integer, nil] rounds that were asked for (nil: until the rows are settled), and that were run to their end
      attr_reader :rounds, :rounds_done
      # @return [Exception, nil] what ended the session before its end, other than an interrupt
      attr_reader :error
      # @return [Array<String>] sentences about how it was measured
      attr_reader :notes

      # @param workload [Workload]
      # @param rows [Array<Row>]
      def initialize(workload:, rows:, seed: nil, rounds: nil, rounds_done: nil, interrupted: false, error: nil,
                     notes: [], environment: Environment.facts)
        @workload = workload
        @rows = rows
        @seed = seed
        @rounds = rounds
        @rounds_done = rounds_done
        @interrupted = interrupted
        @error = error
        @environment = environment
        @agreement = Agreement.new(rows)
        @notes = notes + @agreement.notices
        Ranking.new(rows, @agreement).apply
      end

      # @return [Boolean] Ctrl-C ended it: the report holds the figures up to then
      def interrupted? = @interrupted

      # @return [Array<Mismatch>]
      def mismatches = @agreement.mismatches

      # @return [Boolean] rows that do the same work gave different results
      def mismatch? = mismatches.any?

      # @return [Boolean] the rows of this group gave the same results
      def agreed?(group) = @agreement.agreed?(group)

      # @return [Boolean] a trial failed; a mechanism that this machine does not have is no failure
      def failed? = @rows.any?(&:failed?)

      # @return [Array<Table>]
      def tables = Tables.new(to_h).all

      # @return [Array<Answer>] which row to use, one of each group
      # @api private
      def answers = Answer.of(self)

      # @return [String] the answer and the tables, for people: `puts report`
      def to_s = ReportSet.new([self]).to_s

      # @return [String] one line
      def inspect = "#<#{self.class} #{@workload.name}: #{@rows.map(&:summary).join(", ")}>"

      # @return [Hash] plain values only
      def to_h
        { schema: SCHEMA, workload: workload_record, environment: @environment, seed: @seed,
          rounds: { asked: @rounds, done: @rounds_done }, interrupted: interrupted?,
          error: @error && Text.of_error(@error), mismatches: mismatches.map(&:to_h),
          answers: answers.map(&:to_h), notes: @notes, tables: own_tables, timelines: timelines,
          rows: @rows.map(&:to_h) }
      end

      # @return [String]
      def to_json(*) = ReportSet.new([self]).to_json

      # @return [String] a heading and one line for each row, times in seconds
      def to_csv = ReportSet.new([self]).to_csv

      # @return [String] one self-contained page
      def to_html = ReportSet.new([self]).to_html

      # @return [String] the answer and the tables as Markdown
      def to_markdown = ReportSet.new([self]).to_markdown

      # @param path [String] ends in .html, .json, .csv or .md
      # @return [String] the path
      # @raise [WriteError] when it can't be written; what was measured is still here
      # @raise [UsageError] when the ending is another one
      def save(path) = ReportSet.new([self]).save(path)

      private

      # Speed is shown only where the results agree.
      def agreeing = @rows.select { |row| row.measured? && agreed?(row.group) }

      # The first row of each mechanism, of one group: what is drawn once shows how each works.
      def timelines
        rows = agreeing.select { |row| row.group == agreeing.first.group && row.typical.timeline&.bars&.any? }
        rows.uniq(&:on).map { |row| { label: row.label, on: row.on, **row.typical.timeline.to_h } }
      end

      def own_tables = @workload.tables(agreeing)&.map(&:to_h)

      def workload_record
        { name: @workload.name, title: @workload.title, work: @workload.work, description: @workload.description,
          unit: @workload.unit, notes: @workload.notes }
      end
    end
  end
end
