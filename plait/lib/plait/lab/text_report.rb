# frozen_string_literal: true

require_relative "answer"
require_relative "environment"
require_relative "tables"

module Plait
  module Lab
    # Reports as lines of text: which rows to use, then the tables of each report.
    class TextReport
      # Columns that go first where the terminal is narrow, then the rate.
      LEAST = ["n", "items counted", "GC runs", "retained strings", "retained objects", "retained bytes",
               "strings", "objects", "90 %", *Tables::PEAKS.values, "min – max", "CPU"].freeze

      # Columns of a comparison of two reports that never go.
      SAID = ["after ÷ before", "said"].freeze

      # @param reports [Array<Hash>] records, see {Report#to_h}
      # @param tables [Boolean] whether the tables follow
      # @param width [Integer, nil] columns of the terminal; nil: tables as wide as needed
      # @param paint [#call] gives a text in styles: (text, *styles) => String
      def initialize(reports, tables: true, width: nil, paint: ->(text, *) { text })
        @reports = reports
        @tables = tables
        @columns = width
        @paint = paint
      end

      def lines = [*environment, *answer, *@reports.flat_map { |report| [*differences(report), *(whole(report) if @tables)] }]

      def tables(tables) = tables.flat_map { |table| titled(table, "") }.drop(1)

      private

      # The environment stands once, on top.
      def environment
        facts = @reports.first[:environment]
        wrap("plait #{facts[:plait]}: #{Environment.line(facts)}", width).map { |line| paint(line, :dim) }
      end

      def answer = table(AnswerTable.of(@reports.flat_map { |report| report[:answers] }), &:itself)

      def differences(report)
        found = Tables.new(report).mismatches.flat_map { |mismatch| prose(mismatch, :red) }
        found.empty? ? [] : ["", paint("The results differ:", :bold, :red), *found]
      end

      def whole(report)
        workload = report[:workload]
        ["", *wrap(workload[:title], width).map { |line| paint(line, :bold) }, *prose(workload[:description].to_s, :dim),
         *Tables.new(report).all.flat_map { |table| titled(table, workload[:title]) }, *remarks(report)]
      end

      def titled(table, subject)
        table(table) { |lines| ["  #{paint(Text.clean(table.title.delete_prefix("#{subject}: ")), :bold)}", *lines] }
      end

      def table(table)
        text = TextTable.new(table.columns, table.rows, alignments: table.alignments, width: @columns,
                                                        least: LEAST + table.columns.grep(%r{/s\z}), keep: kept(table))
        head, rule = text.head
        ["", *yield([paint(head, :dim), paint(rule, :dim)]), *rows(table, text),
         *table.notes.flat_map { |note| prose(note, :dim) }, *left_out(text)]
      end

      def kept(table) = (SAID - table.columns).empty? ? SAID : AnswerTable::KEPT

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
        said = (report[:notes] + report[:workload][:notes]).flat_map { |note| prose(note, :dim) }
        said.empty? ? [] : ["", *said]
      end

      def prose(text, *styles) = wrap(text, width - 2).reject(&:empty?).map { |line| "  #{paint(line, *styles)}" }

      def width = [@columns || TextTable::WIDEST_PROSE, TextTable::WIDEST_PROSE].min

      def wrap(text, width) = TextTable.wrap(Text.clean(text), width)

      def paint(...) = @paint.call(...)
    end

    # Reports as Markdown, for an issue or a pull request: which rows to use, then the figures, folded.
    class MarkdownReport
      # @param records [Array<Hash>] see {Report#to_h}
      def initialize(records)
        @records = records
      end

      def to_s = [*head, *@records.flat_map { |record| section(record) }].join("\n\n") << "\n"

      def tables(tables) = tables.flat_map { |one| ["**#{text(one.title)}**", "", table(one), ""] }[0...-1]

      private

      def head
        environments = @records.map { |record| Environment.line(record[:environment]) }.uniq
        warnings = @records.flat_map { |record| Tables.new(record).warnings }
        ["# Plait lab", *environments.map { |line| text(line) }, *warnings.map { |line| "**#{text(line)}**" },
         table(AnswerTable.of(@records.flat_map { |one| one[:answers] }))]
      end

      def section(record)
        tables = tables(Tables.new(record).all)
        notes = record.dig(:workload, :notes) + record[:notes].to_a
        ["## #{text(record.dig(:workload, :title))}", *record.dig(:workload, :description)&.then { |about| text(about) },
         *Tables.new(record).mismatches.map { |found| "**#{text(found)}**" },
         *(["<details><summary>The figures</summary>", tables.join("\n"), "</details>"] if tables.any?), *list(notes)]
      end

      def table(table)
        head, *body = [table.columns, *table.rows].map { |cells| cells.map { |cell| text(cell) } }
        rule = table.alignments.map { |side| side == :right ? "---:" : "---" }
        lines = [head, rule, *body].map { |cells| "| #{cells.join(" | ")} |" }
        [lines.join("\n"), *list(table.notes)].join("\n\n")
      end

      def list(notes) = notes.empty? ? [] : [notes.map { |note| "- #{text(note)}" }.join("\n")]

      # Labels and errors come from users' code: they may hold nothing that Markdown or HTML takes for its own.
      def text(value)
        Text.clean(value).gsub("&", "&amp;").gsub("@", "&#64;").gsub(/[\\`*_{}\[\]<>|#~$]/) { |sign| "\\#{sign}" }
      end
    end

    private_constant :TextReport, :MarkdownReport
  end
end
