# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../../bench/harness/statistics"

module Bench
  module Harness
    class StatisticsTest < Minitest::Test
      def test_the_median_of_an_odd_number_is_the_middle_one
        assert_in_delta 2.0, Statistics.median([9, 1, 2])
      end

      def test_the_median_of_an_even_number_lies_between_the_two_in_the_middle
        assert_in_delta 2.5, Statistics.median([4, 1, 2, 3])
      end

      def test_nothing_has_no_median_and_no_summary
        assert_nil Statistics.median([])
        assert_nil Statistics.summary([])
      end

      def test_a_summary_tells_median_range_and_number
        assert_equal({ median: 5.0, min: 1, max: 70, n: 3 }, Statistics.summary([5, 70, 1]).to_h)
      end

      def test_a_ratio_needs_both_and_a_divisor
        assert_in_delta 0.5, Statistics.ratio(1, 2)
        assert_nil Statistics.ratio(nil, 2)
        assert_nil Statistics.ratio(1, nil)
        assert_nil Statistics.ratio(1, 0)
      end

      def test_the_paired_ratio_cancels_what_slows_a_whole_round
        plait = { 1 => 10, 2 => 100, 3 => 11 }
        peer = { 1 => 20, 2 => 200, 3 => 20 }

        assert_in_delta 0.5, Statistics.paired_ratio(plait, peer)
      end

      def test_the_paired_ratio_leaves_out_rounds_that_only_one_has
        assert_in_delta 2.0, Statistics.paired_ratio({ 1 => 4, 2 => 9 }, { 1 => 2 })
        assert_nil Statistics.paired_ratio({ 1 => 4 }, { 2 => 2 })
      end
    end
  end
end
