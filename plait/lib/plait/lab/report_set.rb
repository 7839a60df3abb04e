# frozen_string_literal: true

require "json"
require_relative "../atomic_file"
require_relative "../values/errors"
require_relative "html_report"
require_relative "row_record"

module Plait
  module Lab
    # Several reports that are shown and saved as one.
    class ReportSet
      include Enumerable

      FORMATS = { ".html" => :to_html, ".htm" => :to_html, ".json" => :to_json, ".csv" => :to_csv }.freeze
      SCHEMA = 1

      # @return [Array<Report>]
      attr_reader :reports

      # @param reports [Array<Report>]
      def initialize(reports)
        @reports = reports
      end

      def each(&) = @reports.each(&)

      # @return [Boolean]
      def mismatch? = any?(&:mismatch?)

      # @return [Boolean]
      def failed? = any?(&:failed?)

      # @return [Boolean]
      def interrupted? = any?(&:interrupted?)

      # @return [Array<Table>]
      def tables = flat_map(&:tables)

      # @return [Hash] plain values only
      def to_h = { schema: SCHEMA, reports: @reports.map(&:to_h) }

      # @return [String]
      def to_json(*) = JSON.pretty_generate(to_h)

      # @return [String] a heading and one line for each row, times in seconds
      def to_csv
        records = flat_map { |report| report.rows.map { |row| RowRecord.new(row, report).to_flat } }
        return "" if records.empty?

        [records.first.keys, *records.map(&:values)].map { |fields| csv_line(fields) }.join
      end

      # @return [String] one self-contained page
      def to_html = HtmlReport.new(@reports).to_s

      # Writes all or nothing.
      # @param path [String] ends in .html, .json or .csv
      # @return [String] the path
      # @raise [WriteError] when it can't be written; what was measured is still here
      # @raise [UsageError] when the ending is another one
      def save(path)
        format = FORMATS.fetch(File.extname(path).downcase) do
          raise UsageError, "can't tell the format of #{path.inspect}: end it in .html, .json or .csv"
        end
        AtomicFile.write(path, public_send(format))
        path
      end

      private

      # The csv library is no default gem from Ruby 3.4 on, and writing needs one rule of it.
      def csv_line(fields)
        "#{fields.map { |field| csv_field(field.to_s) }.join(",")}\n"
      end

      def csv_field(text) = text.match?(/[",\r\n]/) ? "\"#{text.gsub("\"", "\"\"")}\"" : text
    end
  end
end
