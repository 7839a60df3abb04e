# frozen_string_literal: true

require_relative "../values/text_table"
require_relative "answer"
require_relative "tables"

module Plait
  module Lab
    # Reports as lines of text: which rows to use, then the tables of each report.
    class TextReport
      # Columns that go first where the terminal is narrow, then the rate.
      LEAST = ["n", "items counted", "GC runs", "retained strings", "retained objects", "retained bytes",
               "strings", "objects", "90 %", *Tables::PEAKS.values, "min – max", "CPU"].freeze

      # @param reports [Array<Report>]
      # @param tables [Boolean] whether the tables follow
      # @param width [Integer, nil] columns of the terminal; nil: tables as wide as needed
      # @param paint [#call] gives a text in styles: (text, *styles) => String
      def initialize(reports, tables: true, width: nil, paint: ->(text, *) { text })
        @reports = reports
        @tables = tables
        @columns = width
        @paint = paint
      end

      # @return [Array<String>]
      def lines = [*environment, *answer, *@reports.flat_map { |report| [*differences(report), *(whole(report) if @tables)] }]

      private

      # The environment stands once, on top.
      def environment
        facts = @reports.first.environment
        wrap("plait #{facts[:plait]}: #{facts}", width).map { |line| paint(line, :dim) }
      end

      def answer = table(Answer.table(@reports.flat_map(&:answers)), &:itself)

      def differences(report)
        return [] unless report.mismatch?

        ["", paint("The results differ:", :bold, :red), *report.mismatches.flat_map { |found| prose(found.to_s, :red) }]
      end

      def whole(report)
        ["", *wrap(report.workload.title, width).map { |line| paint(line, :bold) },
         *prose(report.workload.description.to_s, :dim),
         *report.tables.flat_map { |table| titled(table, report) }, *remarks(report)]
      end

      def titled(table, report)
        table(table) { |lines| ["  #{paint(table.title.delete_prefix("#{report.workload.title}: "), :bold)}", *lines] }
      end

      def table(table)
        text = TextTable.new(table.columns, table.rows, alignments: table.alignments, width: @columns,
                                                        least: LEAST + table.columns.grep(%r{/s\z}), keep: Answer::KEPT)
        head, rule = text.head
        ["", *yield([paint(head, :dim), paint(rule, :dim)]), *rows(table, text),
         *table.notes.flat_map { |note| prose(note, :dim) }, *left_out(text)]
      end

      def rows(table, text)
        table.rows.zip(text.body).flat_map do |cells, lines|
          cells.any? { |cell| cell.start_with?("fastest") } ? lines.map { |line| paint(line, :green) } : lines
        end
      end

      def left_out(text)
        return [] if text.dropped.empty?

        prose("(left out, for want of width: #{text.dropped.join(", ")}; a wider terminal shows them)", :dim)
      end

      def remarks(report)
        said = (report.notes + report.workload.notes).flat_map { |note| prose(note, :dim) }
        said.empty? ? [] : ["", *said]
      end

      def prose(text, *styles)
        wrap(text.gsub(/[[:cntrl:]]+/, " "), width - 2).reject(&:empty?).map { |line| "  #{paint(line, *styles)}" }
      end

      def width = [@columns || TextTable::WIDEST_PROSE, TextTable::WIDEST_PROSE].min

      def wrap(...) = TextTable.wrap(...)

      def paint(...) = @paint.call(...)
    end
    private_constant :TextReport
  end
end
