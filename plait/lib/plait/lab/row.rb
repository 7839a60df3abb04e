# frozen_string_literal: true

require_relative "statistics"

module Plait
  module Lab
    # A row's plain values, see {Row#to_h}.
    module RowRecord
      # Fields with a median and a range => the row's figure.
      STATISTICS = { wall_s: :wall, cpu_s: :cpu, delay_s: :delay, gvl_wait_s: :gvl_wait, items_per_s: :rate,
                     cpu_per_item_s: :cpu_per_item, peak_bytes: :peak, gc_runs: :gc_runs, gc_time_s: :gc_time }.freeze
      # Fields of one round => the measurement's figure.
      SAMPLE = { wall_s: :wall, cpu_s: :cpu, delay_s: :delay, gvl_wait_s: :gvl_wait, gc_runs: :gc_runs, gc_time_s: :gc_time,
                 objects: :objects, peak_bytes: :peak, errors: :errors, own: :own, failure: :failure }.freeze
      # Fields of the latencies of items => percent.
      PERCENTILES = { p50: 50, p90: 90, p99: 99, max: 100 }.freeze
      # Fields of what an item allocates.
      ALLOCATIONS = %i[items bytes objects strings retained_bytes retained_objects retained_strings].freeze
      COMPARED = %i[comparable fastest ratio answer errors failure].freeze
      private_constant :COMPARED

      class << self
        # @param record [Hash] see {Row#to_h}
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
    end
    private_constant :RowRecord

    # One cell's trials, summed up and compared with the fastest of its group.
    class Row
      # Mechanisms whose main thread does the work; in the others it hands out items, and its delays mean little.
      ONE_THREAD = %i[sequence fibers].freeze

      # @return [Cell]
      attr_reader :cell
      # @return [Array<Measurement>] every trial, in the order they were run, the failed ones too
      attr_reader :trials
      # @return [Array<Measurement, nil>] by round
      # @api private
      attr_reader :rounds
      # @return [Allocations, nil] what the memory pass counted
      attr_reader :allocations
      # @return [String, nil] why there are no allocations
      attr_reader :allocations_missing
      # @return [Array<Float, nil>] seconds by round of a second trial of the same cell: how far equal trials differ
      # @api private
      attr_reader :twin
      # @return [Judgement, nil] of the rows of the group, by their seconds; nil where no comparison may be made
      # @api private
      attr_accessor :judgement

      # @param cell [Cell]
      # @param trials [Array<Measurement, nil>] by round, nil for one in which it rested
      # @param memory [Allocations, String, nil] the figures, or why there are none
      # @param twin [Array<Float, nil>] see {#twin}
      def initialize(cell, trials, memory = nil, twin: [])
        @cell = cell
        @twin = twin
        @rounds = trials
        @trials = trials.compact
        @allocations = memory unless memory.is_a?(String)
        @allocations_missing = memory if memory.is_a?(String)
      end

      # @return [String] as its cell's
      def label = @cell.label

      # @return [Symbol, Array<Symbol>] as its cell's
      def on = @cell.on

      # @return [Integer, Array<Integer>, nil] as its cell's
      def limit = @cell.limit

      # @return [Object] rows of one group must give equal results
      def group = @cell.group

      # @return [Array<Measurement>] the trials that have figures
      def measurements = @measurements ||= @trials.select(&:ok?)

      # @return [Integer]
      def n = measurements.size

      # @return [Boolean]
      def measured? = n.positive?

      # @return [Statistics, nil] seconds
      def wall = statistics(:wall)

      # @return [Statistics, nil] seconds
      def cpu = statistics(:cpu)

      # @return [Statistics, nil] seconds in which its main thread could have run and no processor was free for it
      def delay = statistics(:delay)

      # @return [Statistics, nil] seconds that all its threads have waited for the GVL: Ruby 3.2 and later, in one process
      def gvl_wait = statistics(:gvl_wait)

      # @return [Statistics, nil] items per second
      def rate = statistics(:rate)

      # @return [Statistics, nil] seconds per item
      def cpu_per_item = statistics(:cpu_per_item)

      # @return [Statistics, nil] bytes above what the process held before the run
      def peak = statistics(:peak)

      # @return [Symbol, nil] the meter of {#peak}: :resident (RSS) or :sampled_processes (PSS)
      def peak_source = measurements.filter_map(&:peak_source).first

      # @return [Statistics, nil]
      def gc_runs = statistics(:gc_runs)

      # @return [Statistics, nil] seconds
      def gc_time = statistics(:gc_time)

      # @return [Statistics, nil] of every round's items together, seconds
      def latencies = @latencies ||= Statistics.of(measurements.flat_map { |measurement| measurement.latencies || [] })

      # @param name [String]
      # @return [Statistics, nil] of what only its workload measures
      def own(name) = Statistics.of(measurements.map { |measurement| measurement.own&.fetch(name, nil) })

      # @return [Array<String>] the names of these
      def own_names = measurements.flat_map { |measurement| measurement.own.to_h.keys }.uniq

      # @return [Integer] items that failed, in the worst round
      def errors = measurements.filter_map(&:errors).max || 0

      # @return [Measurement, nil] the round whose time is nearest to the median
      def typical = measurements.min_by { |measurement| (measurement.wall - wall.median).abs }

      # @return [String, nil] why there are no figures, or not all of them
      def failure = failed_trial&.failure

      # @return [Boolean] something went wrong; what this machine can't run does not count
      def failed? = @trials.any? { |trial| !trial.ok? && !trial.unsupported? }

      # @return [Boolean] this machine, Ruby or mechanism can't run the cell
      def unsupported? = !measured? && @trials.any?(&:unsupported?)

      # @return [Boolean] nothing was run: interrupted, or out of time
      def untried? = @trials.empty?

      # @return [Row, nil] the simplest of the best rows of the group; with too few rounds to say, the one with the least median
      def fastest = @judgement && (@judgement.best || @judgement.leader)

      # @return [Boolean]
      def fastest? = equal?(fastest)

      # @return [Float, nil] the median of this row's time ÷ the fastest one's, inside each round
      def ratio = @judgement&.against(self, fastest)&.ratio

      # @return [Symbol, nil] against the fastest row: :slower, :same or :unsettled; nil of that row, and without a comparison
      def answer = fastest && !fastest? ? @judgement.against(self, fastest).answer : nil

      # @return [Array<Float, nil>] seconds by round
      def seconds = @rounds.map { |trial| trial.wall if trial&.ok? }

      # @return [Float, nil] the share of the time in which it could have computed and other programs had the processors
      def delayed_share = delay && (delay.median / wall.median)

      # @return [String] "threads (limit 16) 11.0 ms"
      def summary = "#{label} #{measured? ? Quantity.seconds(wall.median) : failure || "not measured"}"

      # @return [String] one line: its cell holds all items
      def inspect = "#<#{self.class} #{summary}>"

      # Plain values: what is saved as JSON, and what texts, tables and drawings are made of. Times are seconds, sizes bytes.
      # @return [Hash{Symbol => Object}]
      def to_h
        { label: label, series: @cell.series, engine: measurements.first&.engine, on: on, limit: limit, group: group, n: n,
          items: @cell.items.size, **RowRecord::STATISTICS.transform_values { |name| statistics(name)&.to_h },
          peak_source: peak_source, own: own_names.to_h { |name| [name, own(name).to_h] }, latency_s: percentiles,
          allocated_per_item: @allocations&.to_h, not_counted: @allocations_missing, **comparison, failed: failed?,
          samples: samples, twin_wall_s: @twin }
      end

      private

      def percentiles = latencies && RowRecord::PERCENTILES.transform_values { |percent| latencies.percentile(percent) }

      def comparison
        { comparable: !fastest.nil?, fastest: fastest?, best: fastest? && !@judgement.best.nil?, ratio: ratio, answer: answer,
          errors: errors, first_error: measurements.filter_map(&:first_error).first, failure: failure }
      end

      # One of each round, empty where the row rested.
      def samples = @rounds.map { |trial| trial ? RowRecord::SAMPLE.transform_values { |name| trial[name] }.compact : {} }

      def statistics(field)
        @statistics ||= {}
        @statistics.fetch(field) { @statistics[field] = Statistics.of(measurements.map(&field)) }
      end

      def failed_trial = @trials.reverse_each.find { |trial| !trial.ok? }
    end
  end
end
