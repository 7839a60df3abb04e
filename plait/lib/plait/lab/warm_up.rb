# frozen_string_literal: true

require_relative "run"

module Plait
  module Lab
    # Runs a part of a cell's work before it is measured: code is loaded, caches and pools are filled.
    class WarmUp
      SHARE = 10
      MOST = 20

      # @param cell [Cell]
      # @param passes [Integer] 0 for none
      def initialize(cell, passes)
        @cell = cell
        @passes = passes
      end

      # @return [void]
      def call
        @passes.times { Run.new(@cell, items).call } unless items.empty?
      end

      # @return [Array]
      def items = @cell.warmup_items || @cell.items.first((@cell.items.size / SHARE).clamp(1, MOST))
    end
  end
end
