# frozen_string_literal: true

require "json"
require_relative "../atomic_file"
require_relative "../values/errors"
require_relative "html_report"
require_relative "text_report"

module Plait
  module Lab
    # A row as plain values, for JSON and CSV. Times are seconds, sizes bytes.
    class RowRecord
      STATISTICS = { wall_s: :wall, cpu_s: :cpu, delay_s: :delay, items_per_s: :rate,
                     cpu_per_item_s: :cpu_per_item, peak_bytes: :peak, gc_runs: :gc_runs, gc_time_s: :gc_time }.freeze
      SAMPLE = { wall_s: :wall, cpu_s: :cpu, delay_s: :delay, gc_runs: :gc_runs, gc_time_s: :gc_time, objects: :objects,
                 peak_bytes: :peak, errors: :errors, own: :own, failure: :failure }.freeze
      PERCENTILES = { p50: 50, p90: 90, p99: 99, max: 100 }.freeze
      ALLOCATIONS = %i[items bytes objects strings retained_bytes retained_objects retained_strings].freeze
      private_constant :STATISTICS, :SAMPLE, :PERCENTILES, :ALLOCATIONS

      # @param report [Report] whose row it is
      def initialize(row, report)
        @row = row
        @report = report
      end

      # @return [Hash]
      def to_h
        { label: @row.label, engine: engine, on: @row.on, limit: @row.limit, group: @row.group, n: @row.n, items: items,
          **figures, peak_source: @row.peak_source, own: own, latency_s: latency,
          allocated_per_item: @row.allocations&.to_h, **judgement, first_error: first_error, failed: @row.failed?,
          samples: samples, twin_wall_s: @row.twin }
      end

      # @return [Hash{String => Object}] the same, one value a field
      def to_flat
        { "workload" => @report.workload.name, "label" => @row.label, "engine" => engine,
          "on" => @row.cell.mechanism_name, "limit" => limit, "group" => @row.group, "n" => @row.n, "items" => items,
          **flat_figures, **flat_latency, **flat_allocations, **judgement.transform_keys(&:to_s) }
      end

      private

      def items = @row.cell.items.size

      def judgement
        { comparable: !@row.fastest.nil?, fastest: @row.fastest?, ratio: @row.ratio, answer: @row.answer,
          errors: @row.errors, failure: @row.failure }
      end

      # One of each trial, in the order of the rounds.
      def samples = @row.trials.map { |trial| SAMPLE.transform_values { |name| trial[name] }.compact }

      def figures = STATISTICS.transform_values { |name| @row.public_send(name)&.to_h }

      def own = @row.own_names.to_h { |name| [name, @row.own(name).to_h] }

      def latency
        times = @row.latencies or return
        PERCENTILES.transform_values { |percent| times.percentile(percent) }
      end

      def limit = @row.limit && Array(@row.limit).join("x")

      def engine = @row.measurements.first&.engine

      def first_error = @row.measurements.filter_map(&:first_error).first

      def flat_figures
        STATISTICS.each_with_object({}) do |(field, name), flat|
          statistics = @row.public_send(name)
          %i[median min max].each { |part| flat["#{field}_#{part}"] = statistics&.public_send(part) }
        end
      end

      def flat_latency = PERCENTILES.to_h { |name, percent| ["latency_s_#{name}", @row.latencies&.percentile(percent)] }

      def flat_allocations = ALLOCATIONS.to_h { |name| ["allocated_#{name}_per_item", @row.allocations&.[](name)] }
    end

    private_constant :RowRecord

    # Several reports that are shown and saved as one.
    class ReportSet
      FORMATS = { ".html" => :to_html, ".htm" => :to_html, ".json" => :to_json, ".csv" => :to_csv }.freeze
      SCHEMA = 2

      def initialize(reports)
        @reports = reports
      end

      # @return [String] the answer and the tables, for people
      def to_s = lines.join("\n")

      # The same for a terminal.
      # @param tables [Boolean] whether the tables of all rows follow the answer
      # @param rest [Hash] width: columns (nil: as wide as needed), paint: (text, *styles) => String
      # @return [Array<String>]
      def lines(tables: true, **rest) = TextReport.new(@reports, tables: tables, **rest).lines

      # @return [Hash] plain values only
      def to_h = { schema: SCHEMA, reports: @reports.map(&:to_h) }

      def to_json(*) = JSON.pretty_generate(to_h)

      # @return [String] a heading and one line for each row, times in seconds
      def to_csv
        records = @reports.flat_map { |report| report.rows.map { |row| RowRecord.new(row, report).to_flat } }
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
      def csv_line(fields) = "#{fields.map { |field| csv_field(field.to_s) }.join(",")}\n"

      def csv_field(text) = text.match?(/[",\r\n]/) ? "\"#{text.gsub("\"", "\"\"")}\"" : text
    end
  end
end
