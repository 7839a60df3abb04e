# frozen_string_literal: true

require_relative "grid"
require_relative "paragraph"
require_relative "../lab/tables"

module Plait
  module CLI
    # A report for people: what differs first, then the tables, then what they say.
    class Presentation
      # Columns that go first where the terminal is narrow, then the rate.
      LEAST = ["n", "items counted", "GC runs", "retained strings", "retained objects", "retained bytes",
               "strings", "objects", "90 %", *Plait::Lab::Tables::PEAKS.values, "min – max", "CPU"].freeze
      # Prose is read best in lines no longer than this.
      WIDEST_PROSE = 110

      # @param terminal [Terminal]
      def initialize(terminal)
        @terminal = terminal
      end

      # @param report [Lab::Report]
      # @return [void]
      def show(report)
        introduce(report.environment)
        title = Paragraph.wrap(report.workload.title, width).map { |line| bold(line) }
        @terminal.say("", *title, *prose(report.workload.description.to_s, :dim))
        differences(report)
        report.tables.each { |table| show_table(table, report.workload.title) }
        lines = conclusion(report)
        @terminal.say("", *lines) if lines.any?
      end

      private

      # Once, on top.
      def introduce(environment)
        return if @introduced

        @introduced = true
        lines = Paragraph.wrap("plait #{environment[:plait]}: #{environment}", width)
        @terminal.say(*lines.map { |line| paint(line, :dim) })
      end

      def differences(report)
        return unless report.mismatch?

        @terminal.say("", paint("The results differ:", :bold, :red),
                      *report.mismatches.flat_map { |found| prose(found.to_s, :red) })
      end

      def show_table(table, prefix)
        least = LEAST + table.columns.grep(%r{/s\z})
        grid = Grid.new(table.columns, table.rows, alignments: table.alignments, width: @terminal.width, least: least)
        head, rule = grid.head
        @terminal.say("", "  #{bold(table.title.delete_prefix("#{prefix}: "))}", paint(head, :dim), paint(rule, :dim),
                      *rows(table, grid), *table.notes.flat_map { |note| prose(note, :dim) }, *left_out(grid))
      end

      def rows(table, grid)
        table.rows.zip(grid.body).flat_map do |cells, lines|
          cells.any? { |cell| cell.start_with?("fastest") } ? lines.map { |line| paint(line, :green) } : lines
        end
      end

      def left_out(grid)
        return [] if grid.dropped.empty?

        prose("(left out, for want of width: #{grid.dropped.join(", ")}; a wider terminal shows them)", :dim)
      end

      def conclusion(report)
        verdict = report.mismatch? ? [] : report.verdict
        return prose("nothing was measured", :yellow) if verdict.empty? && report.tables.empty?

        verdict.flat_map { |sentence| prose("→ #{sentence}", :bold) } +
          (report.notes + report.workload.notes).flat_map { |note| prose(note, :dim) }
      end

      def prose(text, *styles)
        lines = Paragraph.wrap(text.gsub(/[[:cntrl:]]+/, " "), width - 2).reject(&:empty?)
        lines.map { |line| "  #{paint(line, *styles)}" }
      end

      def width = [@terminal.width || WIDEST_PROSE, WIDEST_PROSE].min

      def bold(text) = paint(text, :bold)

      def paint(...) = @terminal.paint(...)
    end
  end
end
