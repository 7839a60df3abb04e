# frozen_string_literal: true

require_relative "../values/text_table"
require_relative "tables"

module Plait
  module Lab
    # A report as lines of text: what differs first, then the tables, then what they say.
    class TextReport
      # Columns that go first where the terminal is narrow, then the rate.
      LEAST = ["n", "items counted", "GC runs", "retained strings", "retained objects", "retained bytes",
               "strings", "objects", "90 %", *Tables::PEAKS.values, "min – max", "CPU"].freeze

      # @param width [Integer, nil] columns of the terminal; nil: tables as wide as needed
      # @param environment [Boolean] whether the first line tells where it was measured
      # @param paint [#call] gives a text in styles: (text, *styles) => String
      def initialize(report, width: nil, environment: true, paint: ->(text, *) { text })
        @report = report
        @columns = width
        @environment = environment
        @paint = paint
      end

      # @return [Array<String>]
      def lines
        [*(environment if @environment), "", *heading, *differences, *tables, *conclusion]
      end

      def to_s = lines.join("\n")

      private

      def environment
        wrap("plait #{@report.environment[:plait]}: #{@report.environment}", width).map { |line| paint(line, :dim) }
      end

      def heading
        [*wrap(@report.workload.title, width).map { |line| paint(line, :bold) },
         *prose(@report.workload.description.to_s, :dim)]
      end

      def differences
        return [] unless @report.mismatch?

        ["", paint("The results differ:", :bold, :red),
         *@report.mismatches.flat_map { |found| prose(found.to_s, :red) }]
      end

      def tables = @report.tables.flat_map { |table| table_lines(table) }

      def table_lines(table)
        text = TextTable.new(table.columns, table.rows, alignments: table.alignments, width: @columns,
                                                        least: LEAST + table.columns.grep(%r{/s\z}))
        head, rule = text.head
        ["", "  #{paint(table.title.delete_prefix("#{@report.workload.title}: "), :bold)}", paint(head, :dim), paint(rule, :dim),
         *rows(table, text), *table.notes.flat_map { |note| prose(note, :dim) }, *left_out(text)]
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

      def conclusion
        verdict = @report.mismatch? ? [] : @report.verdict
        notes = @report.notes + @report.workload.notes
        said = verdict.flat_map { |sentence| prose("→ #{sentence}", :bold) } + notes.flat_map { |note| prose(note, :dim) }
        said = prose("nothing was measured", :yellow) if verdict.empty? && @report.tables.empty?
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
