# frozen_string_literal: true

require_relative "../mechanisms"
require_relative "../mechanisms/coordinator"
require_relative "../mechanisms/options"

module Plait
  module Lab
    # One pass of a cell's body over items, exactly as {Plait.each_result} makes it. The face itself can't be required
    # here: it loads the lab when it is asked for.
    class Run
      # @param cell [Cell]
      # @param items [Array]
      def initialize(cell, items = cell.items)
        @cell = cell
        @items = items
      end

      # @return [Array<Outcome>] in input order; those that the cell's options skip are missing
      # @raise [Exception] the first failure, unless the cell's options say otherwise
      def call
        outcomes = Array.new(@items.size)
        coordinator.each { |outcome| outcomes[outcome.index] = outcome }
        outcomes.compact
      end

      private

      def coordinator
        Mechanisms::Coordinator.new(Mechanisms.fetch(@cell.on), @items, options, @cell.body)
      end

      # Progress is the session's business: a bar of the user's own would be drawn by every trial.
      def options = Mechanisms::Options.new(limit: @cell.limit, **@cell.options.except(:progress))
    end
  end
end
