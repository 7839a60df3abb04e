# frozen_string_literal: true

require "json"
require_relative "../atomic_file"
require_relative "html_report"
require_relative "row"
require_relative "tables"
require_relative "text_report"

module Plait
  module Lab
    # What a record must look like that comes from a file. A form is a class, a value or a Proc (by ===), a Hash of forms, an
    # Array of one form (a list), or of several: nil and a form, say.
    module SavedForm
      NUMBER = ->(value) { value.is_a?(Numeric) && value.finite? && value.abs < 1e300 }
      POSITIVE = ->(value) { NUMBER.call(value) && !value.negative? }
      COUNT = (0..)
      LIMITS = ->(value) { value.is_a?(Array) && value.any? && value.all? { |one| one.is_a?(Integer) && one.positive? } }
      BOOLEAN = [true, false].freeze
      TEXT = [nil, String].freeze
      ON = [String, [String]].freeze
      STATISTICS = { median: POSITIVE, min: POSITIVE, max: POSITIVE, n: COUNT }.freeze
      ALLOCATIONS = { scope: TEXT, **RowRecord::ALLOCATIONS.to_h { |name| [name, [nil, NUMBER]] } }.freeze
      ROW = {
        label: String, series: String, on: ON, limit: [nil, 1.., LIMITS], group: TEXT, items: COUNT, n: 0,
        **RowRecord::STATISTICS.transform_values { [nil, STATISTICS] },
        peak_bytes: [nil, { median: NUMBER, min: NUMBER, max: NUMBER }], peak_source: [nil, "resident", "sampled_processes"],
        latency_s: [nil, { p50: POSITIVE, p90: [nil, POSITIVE], p99: [nil, POSITIVE], max: POSITIVE }],
        allocated_per_item: [nil, ALLOCATIONS], not_counted: TEXT, comparable: BOOLEAN, fastest: BOOLEAN, best: BOOLEAN,
        ratio: [nil, POSITIVE], answer: TEXT, errors: COUNT, first_error: TEXT, failure: TEXT,
        samples: [{ wall_s: [nil, POSITIVE], failure: TEXT }]
      }.freeze
      TABLE = lambda do |value|
        fit?(value, COLUMNS) && [value[:alignments], *value[:rows]].all? { |row| row.size == value[:columns].size }
      end
      COLUMNS = { title: String, columns: [String], rows: [[String]], alignments: [["left", "right"]], notes: [String] }.freeze
      BAR = ->(value) { value.is_a?(Array) && value.size == 4 && value.all?(POSITIVE) && value.first < 100 }
      RECORD = {
        workload: { name: String, title: String, description: TEXT, unit: String, notes: [String] },
        environment: { ruby_version: TEXT, cpus: [nil, 1..], memory_bytes: [nil, POSITIVE], gems: [nil, Hash] },
        mismatches: [{ group: TEXT, reference: String, differing: [String], index: [nil, COUNT], expected: TEXT,
                       found: TEXT }],
        answers: [{ work: String, group: TEXT, use: TEXT, reference: TEXT, in_sequence: BOOLEAN, note: TEXT, sure: String,
                    **%i[reference_s use_s ratio noise].to_h { |name| [name, [nil, POSITIVE]] } }],
        rows: [[ROW, ROW.merge(n: 1.., wall_s: STATISTICS)]], notes: [String], error: TEXT, tables: [nil, [TABLE]],
        timelines: [{ label: String, on: ON, workers: COUNT, slots: COUNT, items_per_bar: COUNT, bars: [BAR] }]
      }.freeze

      class << self
        # @return [Array<Symbol>] the fields of the record that are not as they must be
        def misfits(record) = RECORD.reject { |name, form| record.key?(name) && fit?(record[name], form) }.keys

        private

        def fit?(value, form)
          case form
          when Hash then value.is_a?(Hash) && form.all? { |name, inner| fit?(value[name], inner) }
          when Array
            return form.any? { |one| fit?(value, one) } if form.size > 1

            value.is_a?(Array) && value.all? { |one| fit?(one, form.first) }
          else form === value # rubocop:disable Style/CaseEquality -- a class, a range, a Proc
          end
        end
      end
    end
    private_constant :SavedForm

    # Several reports that are shown and saved as one: of a session, or of a saved file.
    class ReportSet
      FORMATS = { ".html" => :to_html, ".htm" => :to_html, ".json" => :to_json, ".csv" => :to_csv, ".md" => :to_markdown }.freeze
      # Raised by one when a field changes its meaning or goes; new fields don't raise it.
      SCHEMA = 2
      class << self
        # @param path [String] of a file that `--json` or {#save} has written
        # @return [ReportSet]
        # @raise [UsageError] says what is wrong with the file
        def load(path)
          saved = JSON.parse(File.read(path, mode: "r:BOM|UTF-8"), symbolize_names: true)
          records = saved.is_a?(Hash) ? saved[:reports] : nil
          raise UsageError, "#{path} is no report of plait: it has no \"reports\"" unless records.is_a?(Array) && records.any?

          new(records.each { |record| check(record, path) })
        rescue SystemCallError => e
          raise UsageError, "can't read #{path}: #{e.message.sub(/ @ .*/m, "")}"
        rescue JSON::ParserError, EncodingError
          raise UsageError, "#{path} is no JSON; plait lab --json FILE writes such a file"
        end

        private

        def check(record, path)
          schema = record.is_a?(Hash) ? record[:schema] : nil
          unless schema == SCHEMA
            raise UsageError, "#{path} has schema #{schema.inspect}, and this version of plait reads #{SCHEMA}"
          end

          # Reports of earlier versions lack what is drawn and shown now.
          wrong = SavedForm.misfits(record)
          raise UsageError, "#{path} is damaged, or of another version, in #{wrong.join(", ")}: measure again" if wrong.any?
        end
      end

      # @return [Array<Hash>] see {Report#to_h}
      attr_reader :records

      # @param reports [Array<#to_h>] reports, or their records
      def initialize(reports)
        @records = reports.map(&:to_h)
      end

      # @return [String] the answer and the tables, for people
      def to_s = lines.join("\n")

      # The same for a terminal.
      # @param tables [Boolean] whether the tables of all rows follow the answer
      # @param rest [Hash] width: columns (nil: as wide as needed), paint: (text, *styles) => String
      # @return [Array<String>]
      def lines(tables: true, **rest) = TextReport.new(@records, tables: tables, **rest).lines

      # @return [Hash] plain values only
      def to_h = { schema: SCHEMA, reports: @records }

      # A list of numbers is one line. A String of JSON holds no line break, so that its text stays as it is.
      def to_json(*)
        JSON.pretty_generate(to_h).gsub(/\[\n\s*([-\d.e]+,\n\s*)+[-\d.e]+\n\s*\]/) { |numbers| numbers.gsub(/\s+/, " ") }
      end

      # @return [String] a heading and one line for each row, times in seconds
      def to_csv
        lines = @records.flat_map { |record| record[:rows].map { |row| RowRecord.flat(row, record.dig(:workload, :name)) } }
        return "" if lines.empty?

        [lines.first.keys, *lines.map(&:values)].map { |fields| csv_line(fields) }.join
      end

      # @return [String] one self-contained page
      def to_html = HtmlReport.new(@records).to_s

      # @return [String] the answer and the tables as Markdown
      def to_markdown = MarkdownReport.new(@records).to_s

      # @return [Array<String>] what a reader must know first: reports that ended early, or have different results
      def warnings = @records.flat_map { |record| Tables.new(record).warnings }

      # Writes all or nothing.
      # @param path [String] ends in .html, .json, .csv or .md
      # @return [String] the path
      # @raise [WriteError] when it can't be written; what was measured is still here
      # @raise [UsageError] when the ending is another one
      def save(path)
        format = FORMATS.fetch(File.extname(path).downcase) do
          raise UsageError, "can't tell the format of #{path.inspect}: end it in .html, .json, .csv or .md"
        end
        AtomicFile.write(path, public_send(format))
        path
      end

      private

      # The csv library is no default gem from Ruby 3.4 on, and writing needs one rule of it.
      def csv_line(fields) = "#{fields.map { |field| csv_field(field.to_s) }.join(",")}\n"

      def csv_field(text) = text.match?(/[",\r\n]/) ? "\"#{text.gsub("\"", "\"\"")}\"" : text
    end
  end
end
