# frozen_string_literal: true

module Bench
  module Harness
    # One figure read off a {Sample}: its name, its unit, and which way is better.
    class Metric
      # @return [String] as in the JSON report, e.g. "cpu_us_per_request"
      attr_reader :name
      # @return [String] e.g. "us"
      attr_reader :unit

      # @param name [String]
      # @param unit [String]
      # @param lower_is_better [Boolean]
      # @yieldparam sample [Sample]
      # @yieldreturn [Numeric, nil] nil where the sample has no such figure
      def initialize(name, unit:, lower_is_better: true, &read)
        @name = name
        @unit = unit
        @lower_is_better = lower_is_better
        @read = read
      end

      # CPU time, user and system, in microseconds an operation.
      # @param operation [String] what is counted, in the singular
      def self.cpu(operation) = new("cpu_us_per_#{operation}", unit: "us", &:cpu_us)

      # Wall-clock time in microseconds an operation.
      def self.wall(operation) = new("wall_us_per_#{operation}", unit: "us", &:wall_us)

      # Wall-clock time of the whole in seconds.
      def self.seconds = new("wall_s", unit: "s", &:wall)

      # Memory over the base, in kilobytes (1,000 bytes) an operation.
      def self.memory(operation) = new("kb_per_#{operation}", unit: "kB", &:memory_kb)

      # A figure which the contestant reports itself, as `trial.report(…, figures: { NAME => … })`.
      def self.figure(name, unit:, lower_is_better: true)
        new(name, unit: unit, lower_is_better: lower_is_better) { |sample| sample.figures[name] }
      end

      def lower_is_better? = @lower_is_better

      # @param sample [Sample]
      # @return [Numeric, nil]
      def value(sample) = @read.call(sample)

      # @param figures [Enumerable<Numeric>]
      # @return [Numeric, nil] the best of them
      def best(figures) = lower_is_better? ? figures.min : figures.max
    end
  end
end
