# frozen_string_literal: true

require_relative "statistics"

module Plait
  module Lab
    # A row as plain values, for JSON and CSV. Times are seconds, sizes bytes.
    class RowRecord
      STATISTICS = { wall_s: :wall, cpu_s: :cpu, delay_s: :delay, items_per_s: :rate,
                     cpu_per_item_s: :cpu_per_item, peak_bytes: :peak, gc_runs: :gc_runs, gc_time_s: :gc_time }.freeze
      PERCENTILES = { p50: 50, p90: 90, p99: 99, max: 100 }.freeze
      ALLOCATIONS = %i[items bytes objects strings retained_bytes retained_objects retained_strings].freeze

      # @param row [Row]
      # @param report [Report] whose row it is
      def initialize(row, report)
        @row = row
        @report = report
      end

      # @return [Hash]
      def to_h
        { label: @row.label, engine: engine, on: @row.on, limit: @row.limit, group: @row.group, n: @row.n, items: items,
          **figures, peak_source: @row.peak_source, own: own, latency_s: latency,
          allocated_per_item: @row.allocations&.to_h, **judgement, first_error: first_error, failed: @row.failed? }
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
        { comparable: !@row.fastest.nil?, fastest: @row.fastest?, ratio: @row.ratio, tie: @row.tie?,
          errors: @row.errors, failure: @row.failure }
      end

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
  end
end
