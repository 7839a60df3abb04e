# frozen_string_literal: true

require_relative "case"
require_relative "goal"
require_relative "metric"

module Bench
  module Harness
    # Builds a {Case}: what a case's file says inside {Harness.define}.
    class Definition
      # @param name [String]
      # @param file [String] where the case is defined
      # @param quick [Boolean] whether the small sizes are taken
      def initialize(name, file:, quick:)
        @quick = quick
        @parts = { name: name, title: name, file: file, sizes: {}, metrics: [], contestants: [], goals: [] }
      end

      def title(text) = @parts[:title] = text

      # Numbers that all contestants share; read as `trial[:NAME]`.
      # @param numbers [Hash{Symbol => Object}] an Array is the size of the full run, and the one of `--quick`
      def sizes(**numbers) = numbers.each { |name, number| @parts[:sizes][name] = Array(number)[@quick ? -1 : 0] }

      # @param name [Symbol]
      # @return [Object] the size of that name, as it is taken in this run
      def [](name) = @parts[:sizes].fetch(name)

      # @param number [Integer] rounds of the full run, where the usual number does not fit
      def rounds(number) = @parts[:rounds] = number

      # @param metrics [Array<Metric>] the first is the one that is judged
      def metrics(*metrics) = @parts[:metrics].concat(metrics)

      # @see Goal
      def goal(**options) = @parts[:goals] << Goal.new(**options)

      # A contestant for whom Plait is loaded, as for each that names it among its gems.
      # @param gems [Array<String>] what it needs besides: a soft dependency
      # @yieldparam trial [Trial]
      def plait(name = "plait", gems: [], &body) = add(name, :plait, ["plait", *gems], body)

      # @param name [String]
      # @param gems [Array<String>] what must be installed for it
      # @yieldparam trial [Trial]
      def peer(name, gems: [], &body) = add(name, :peer, gems, body)

      # The limit set by the machine or the language, which nobody beats.
      # @yieldparam trial [Trial]
      def floor(name, gems: [], &body) = add(name, :floor, gems, body)

      # @return [Case]
      def build = Case.new(**@parts)

      private

      def add(name, kind, gems, body) = @parts[:contestants] << Contestant.new(name, kind, gems, body)
    end

    class << self
      # @return [Array<Case>] what the files loaded so far define
      def cases = @cases ||= []

      # @param quick [Boolean] whether cases defined from now on take their small sizes
      attr_accessor :quick

      # Defines a case; called by the files of a subject.
      # @param name [String]
      # @yieldparam definition [Definition]
      def define(name)
        definition = Definition.new(name, file: caller_locations(1, 1).first.absolute_path, quick: quick)
        yield definition
        cases << definition.build
      end
    end
  end
end
