# frozen_string_literal: true

require_relative "../values/deadline"

module Plait
  module Lab
    # The time that a session may take, and what each cell's last trial took of it.
    class Budget
      # @param seconds [Numeric, nil] nil: as long as it takes
      def initialize(seconds)
        @deadline = Deadline.after(seconds)
        @costs = {}.compare_by_identity
      end

      # Runs a trial of a cell and remembers how long it took, its process and warm-up included.
      # @return [Object] what the block returns
      def spend(cell)
        began = Deadline.now
        yield
      ensure
        @costs[cell] = Deadline.now - began
      end

      # @param cells [Array<Cell>]
      # @return [Boolean] one more trial of each would end in time, if it takes as long as the last one
      def for?(cells) = @deadline.nil? || cells.sum { |cell| @costs.fetch(cell, 0.0) } <= @deadline.remaining
    end
  end
end
