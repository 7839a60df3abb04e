# frozen_string_literal: true

require_relative "../../values/quantity"
require_relative "../mechanism"
require_relative "climb"

module Plait
  module Mechanisms
    # What `on: :auto` has chosen, and why. See {Plait.last_decision}.
    class Decision
      # @api private
      PLACE = :@plait_decision

      # @return [Symbol] the mechanism
      attr_reader :on
      # @return [Integer] items in flight at most
      attr_reader :limit
      # @return [Hash] :items (finished so far), :changes (how often the work has changed), :settled (false while it is still
      #   trying), and :tried, an Array with a Hash for each choice that was measured: :on, :limit, :items, :rate (items a
      #   second that succeeded) and :busy (processors that the program kept busy meanwhile)
      attr_reader :figures

      # @api private
      def initialize(climb, on:, among:)
        @on = on
        @limit = climb.level.limit
        tried = climb.tried.values.map { |window| describe(window, among) }
        @figures = { items: climb.total, changes: climb.changes, settled: climb.settled?, tried: tried.freeze }.freeze
        freeze
      end

      # @return [String] a sentence
      def why
        own, others = @figures[:tried].partition { |row| row[:limit] == @limit && same?(row[:on]) }
        return unmeasured if own.empty?

        row = own.first
        "#{rate(row)} with #{busy(row)}#{"; #{others.map { |other| compare(other, row) }.join(", ")}" if others.any?}"
      end

      # @return [String] the choice and the reason
      def to_s = "#{choice(@on, @limit)}: #{why}"

      private

      def describe(window, among)
        kind = window.level.kind
        on = kind == :threads && window.level.limit == 1 && among.include?(:sequence) ? :sequence : kind
        on = :hybrid if on == :fibers && !among.include?(:fibers)
        { on: on, limit: window.level.limit, items: window.items, rate: window.rate, busy: window.busy }.freeze
      end

      def same?(other) = other == @on || (@on == :hybrid && other == :fibers)

      def unmeasured
        return "no item has finished yet" if @figures[:items].zero?

        @limit > 1 ? "the items wait, and too few have finished to compare limits" : "too few items have finished to compare limits"
      end

      def choice(mechanism, limit) = mechanism == :sequence ? "sequence" : "#{mechanism}, #{limit} at once"

      def rate(row) = "#{Quantity.number(row[:rate])} items a second"

      def busy(row) = "#{format("%.2f", row[:busy])} processors busy"

      def compare(other, row)
        return "#{choice(other[:on], other[:limit])} gave none" unless other[:rate].positive?

        "#{choice(other[:on], other[:limit])} gave #{format("%.2f", other[:rate] / [row[:rate], 1e-9].max)} times as many"
      end
    end
  end
end
