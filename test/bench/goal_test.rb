# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../../bench/harness/goal"

module Bench
  module Harness
    class GoalTest < Minitest::Test
      def test_an_upper_bound
        goal = Goal.new(metric: "cpu", against: "async", at_most: 0.35)

        assert_equal "≤ 0.35 × async", goal.to_s
        verdicts = [0.2, 0.35, 0.36].map { |ratio| goal.verdict(ratio) }

        assert_equal %w[met met missed], verdicts
      end

      def test_a_lower_bound_on_the_figure_itself
        goal = Goal.new(metric: "in_flight", at_least: 1_000)

        assert_equal "≥ 1000", goal.to_s
        assert_equal "missed", goal.verdict(999)
        assert_equal "met", goal.verdict(1_000)
      end

      def test_one_of_another_contestant_says_whose_it_is
        goal = Goal.new(metric: "cpu", of: "plait, threads", against: "iodine", at_most: 0.65)

        assert_equal "plait, threads: ≤ 0.65 × iodine", goal.to_s
      end

      def test_nothing_measured_is_neither
        assert_equal "not measured", Goal.new(metric: "cpu", at_most: 1).verdict(nil)
      end

      def test_a_goal_without_a_bound_is_refused
        assert_raises(ArgumentError) { Goal.new(metric: "cpu") }
      end
    end
  end
end
