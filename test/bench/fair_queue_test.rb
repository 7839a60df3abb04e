# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../../bench/databases/support/fair_queue"

module Bench
  module Databases
    class FairQueueTest < Minitest::Test
      # Each asks, gets and gives back.
      FAVOURED = [[0.0, 0.0, 1.0], [0.1, 2.0, 3.0], [1.0, 1.0, 2.0]].freeze

      def test_who_asks_first_is_served_first
        assert_equal([0.0, 0.9, 1.0], rounded(FairQueue.new(1).waits(FAVOURED)))
      end

      def test_nobody_waits_while_there_are_enough
        assert_equal([0.0, 0.0, 0.0], FairQueue.new(2).waits(FAVOURED))
      end

      def test_the_one_that_is_free_first_is_taken
        turns = [[0.0, 0.0, 3.0], [0.0, 0.0, 1.0], [0.5, 3.0, 4.0]]
        assert_equal([0.0, 0.0, 0.5], rounded(FairQueue.new(2).waits(turns)))
      end

      private

      def rounded(waits) = waits.map { |seconds| seconds.round(6) }
    end
  end
end
