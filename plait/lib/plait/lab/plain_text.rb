# frozen_string_literal: true

module Plait
  module Lab
    # A report as lines for whoever prints it: what differs, the tables, what they say. (The command line draws its own,
    # which fit the terminal.)
    class PlainText
      GAP = "  "

      # @param report [Report]
      def initialize(report)
        @report = report
      end

      # @return [String]
      def to_s = [heading, *differences, *tables, *conclusion].join("\n")

      private

      def heading = [@report.workload.title, @report.workload.description, @report.environment].compact.join("\n")

      def differences = @report.mismatches.any? ? ["", "The results differ:", *indented(@report.mismatches)] : []

      def tables = @report.tables.flat_map { |table| ["", "#{GAP}#{title(table)}", *lines(table), *indented(table.notes)] }

      def title(table) = table.title.delete_prefix("#{@report.workload.title}: ")

      def lines(table)
        grid = [table.columns, *table.rows]
        widths = grid.transpose.map { |cells| cells.map(&:size).max }
        indented(grid.map { |cells| cells.zip(widths, table.alignments).map { |cell| pad(*cell) }.join(GAP).rstrip })
      end

      def pad(cell, width, alignment) = alignment == :right ? cell.rjust(width) : cell.ljust(width)

      def conclusion
        said = @report.verdict + @report.notes + @report.workload.notes
        said << "nothing was measured" if said.empty? && @report.tables.empty?
        said.empty? ? [] : ["", *indented(said)]
      end

      def indented(texts) = texts.map { |text| "#{GAP}#{text}" }
    end
  end
end
