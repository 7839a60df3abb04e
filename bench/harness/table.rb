# frozen_string_literal: true

module Bench
  module Harness
    # A table of text: the first column to the left, the others to the right.
    class Table
      # @param columns [Array<String>]
      # @param rows [Array<Array<String>>]
      def initialize(columns, rows)
        @lines = [columns, *rows.map { |row| row.map(&:to_s) }]
      end

      # @return [String]
      def to_s = [line(@lines.first), rule, *@lines.drop(1).map { |cells| line(cells) }].join("\n")

      private

      def widths = @widths ||= @lines.transpose.map { |column| column.map(&:length).max }

      def line(cells)
        padded = cells.each_with_index.map { |cell, at| at.zero? ? cell.ljust(widths[at]) : cell.rjust(widths[at]) }
        "| #{padded.join(" | ")} |"
      end

      def rule
        dashes = widths.each_with_index.map { |width, at| at.zero? ? "-" * (width + 2) : "#{"-" * (width + 1)}:" }
        "|#{dashes.join("|")}|"
      end
    end
  end
end
