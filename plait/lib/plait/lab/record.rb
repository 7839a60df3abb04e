# frozen_string_literal: true

require "etc"
require "time"
require_relative "../version"

module Plait
  module Lab
    # Where and with what the figures were measured.
    # @api private
    class Environment
      GEMS = %w[io-event memory_profiler concurrent-ruby async].freeze

      # @return [Environment] this machine, now
      def self.current = new(facts)

      # @return [Hash{Symbol => Object}]
      def self.facts
        { plait: VERSION, ruby: RUBY_DESCRIPTION, engine: RUBY_ENGINE, ruby_version: RUBY_VERSION,
          platform: RUBY_PLATFORM, kernel: kernel, cpu: cpu, cpus: Etc.nprocessors, memory_bytes: memory, load: load,
          gems: gems, date: Time.now.utc.iso8601 }
      end

      class << self
        private

        def kernel
          names = Etc.uname
          "#{names[:sysname]} #{names[:release]}"
        end

        def cpu = readable("/proc/cpuinfo")&.[](/^model name\s*:\s*(.+)$/, 1)

        def memory
          kilobytes = readable("/proc/meminfo")&.[](/^MemTotal:\s*(\d+) kB$/, 1)
          kilobytes && (kilobytes.to_i * 1024)
        end

        def load = readable("/proc/loadavg")&.to_f

        # Ruby may have been started with --disable=gems.
        def gems
          loaded = defined?(Gem) ? Gem.loaded_specs.slice(*GEMS) : {}
          loaded.transform_values { |spec| spec.version.to_s }
        end

        def readable(path)
          File.read(path)
        rescue SystemCallError
          nil
        end
      end

      # @param facts [Hash{Symbol => Object}]
      def initialize(facts)
        @facts = facts
      end

      # @return [Object] one of the facts
      def [](name) = @facts[name]

      # @return [Hash{Symbol => Object}]
      def to_h = @facts

      # @return [String] one line: what a reader needs to judge the figures
      def to_s
        parts = ["Ruby #{self[:ruby_version]} (#{self[:engine]})", "#{self[:cpus]} CPUs", memory_text, self[:kernel]]
        parts.compact.join(", ")
      end

      private

      def memory_text = self[:memory_bytes] && "#{(self[:memory_bytes] / 1e9).round} GB"
    end

    # A row as plain values: what is saved as JSON, and what texts, tables and drawings are made of. Times are seconds, sizes
    # bytes.
    class RowRecord
      STATISTICS = { wall_s: :wall, cpu_s: :cpu, delay_s: :delay, gvl_wait_s: :gvl_wait, items_per_s: :rate,
                     cpu_per_item_s: :cpu_per_item, peak_bytes: :peak, gc_runs: :gc_runs, gc_time_s: :gc_time }.freeze
      SAMPLE = { wall_s: :wall, cpu_s: :cpu, delay_s: :delay, gvl_wait_s: :gvl_wait, gc_runs: :gc_runs, gc_time_s: :gc_time, objects: :objects,
                 peak_bytes: :peak, errors: :errors, own: :own, failure: :failure }.freeze
      PERCENTILES = { p50: 50, p90: 90, p99: 99, max: 100 }.freeze
      ALLOCATIONS = %i[items bytes objects strings retained_bytes retained_objects retained_strings].freeze
      COMPARED = %i[comparable fastest ratio answer errors failure].freeze
      private_constant :STATISTICS, :SAMPLE, :PERCENTILES, :ALLOCATIONS, :COMPARED

      class << self
        # @param record [Hash] see {#to_h}
        # @param workload [String] its name
        # @return [Hash{Symbol => Object}] one value a column of CSV
        def flat(record, workload)
          { workload: workload, **record.slice(:label, :engine), on: mechanism(record),
            limit: record[:limit] && Array(record[:limit]).join("x"), **record.slice(:group, :n, :items), **statistics(record),
            **PERCENTILES.to_h { |name, _| [:"latency_s_#{name}", record.dig(:latency_s, name)] },
            **ALLOCATIONS.to_h { |name| [:"allocated_#{name}_per_item", record.dig(:allocated_per_item, name)] },
            **record.slice(*COMPARED) }
        end

        # @return [String] "processes × fibers"
        def mechanism(record) = Array(record[:on]).join(" × ")

        private

        def statistics(record)
          STATISTICS.each_key.with_object({}) do |field, flat|
            %i[median min max].each { |part| flat[:"#{field}_#{part}"] = record.dig(field, part) }
          end
        end
      end

      # @param row [Row]
      def initialize(row)
        @row = row
      end

      # @return [Hash{Symbol => Object}]
      def to_h
        { label: @row.label, series: @row.cell.series, engine: @row.measurements.first&.engine, on: @row.on, limit: @row.limit,
          group: @row.group, n: @row.n, items: @row.cell.items.size, **figures, peak_source: @row.peak_source, own: own,
          latency_s: latency, allocated_per_item: @row.allocations&.to_h, not_counted: @row.allocations_missing, **judgement,
          failed: @row.failed?, samples: samples, twin_wall_s: @row.twin }
      end

      private

      def figures = STATISTICS.transform_values { |name| @row.public_send(name)&.to_h }

      def own = @row.own_names.to_h { |name| [name, @row.own(name).to_h] }

      def latency
        times = @row.latencies or return
        PERCENTILES.transform_values { |percent| times.percentile(percent) }
      end

      def judgement
        { comparable: !@row.fastest.nil?, fastest: @row.fastest?, best: @row.fastest? && !@row.judgement.best.nil?,
          ratio: @row.ratio, answer: @row.answer, errors: @row.errors,
          first_error: @row.measurements.filter_map(&:first_error).first, failure: @row.failure }
      end

      # One of each trial, in the order of the rounds.
      def samples = @row.trials.map { |trial| SAMPLE.transform_values { |name| trial[name] }.compact }
    end

    private_constant :RowRecord
  end
end
