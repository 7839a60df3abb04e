# frozen_string_literal: true

require "json"
require_relative "../atomic_file"
require_relative "../values/errors"
require_relative "html_report"
require_relative "row"
require_relative "text_report"

module Plait
  module Lab
    # Several reports that are shown and saved as one: of a session, or of a saved file.
    class ReportSet
      FORMATS = { ".html" => :to_html, ".htm" => :to_html, ".json" => :to_json, ".csv" => :to_csv, ".md" => :to_markdown }.freeze
      # Raised by one when a field changes its meaning or goes; new fields don't raise it.
      SCHEMA = 2
      # Fields without which a file is no report of this schema.
      NEEDED = %i[workload environment mismatches answers rows].freeze
      private_constant :NEEDED

      class << self
        # @param path [String] of a file that `--json` or {#save} has written
        # @return [ReportSet]
        # @raise [UsageError] says what is wrong with the file
        def load(path)
          saved = JSON.parse(File.read(path, encoding: "UTF-8"), symbolize_names: true)
          records = saved.is_a?(Hash) ? saved[:reports] : nil
          raise UsageError, "#{path} is no report of plait: it has no \"reports\"" unless records.is_a?(Array) && records.any?

          new(records.each { |record| check(record, path) })
        rescue SystemCallError => e
          raise UsageError, "can't read #{path}: #{e.message.sub(/ @ .*/, "")}"
        rescue JSON::ParserError, EncodingError
          raise UsageError, "#{path} is no JSON; plait lab --json FILE writes such a file"
        end

        private

        def check(record, path)
          schema = record.is_a?(Hash) ? record[:schema] : nil
          unless schema == SCHEMA
            raise UsageError,
                  "#{path} has schema #{schema.inspect}, and this version of plait reads #{SCHEMA}"
          end

          # Reports of earlier versions lack what is drawn and shown now.
          missing = [*(NEEDED - record.compact.keys), *(%i[timelines] - record.keys)]
          raise UsageError, "#{path} lacks #{missing.join(", ")}; measure again with this version of plait" if missing.any?
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

      def to_json(*) = JSON.pretty_generate(to_h).gsub(/\[\s+([-\d.e]+,\s+)+[-\d.e]+\s+\]/) { |numbers| numbers.gsub(/\s+/, " ") }

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
