# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../../bench/harness/case"
require_relative "../../bench/harness/plan"

module Bench
  module Harness
    class PlanTest < Minitest::Test
      def test_everybody_runs_once_in_every_round
        plan = Plan.new([bench_case("a"), bench_case("b")], rounds: 3)

        assert_equal 12, plan.size
        assert_equal plan.size, plan.to_a.uniq.size
        assert_equal [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3], plan.map(&:last)
      end

      def test_the_contestants_of_a_case_follow_each_other
        plan = Plan.new([bench_case("a"), bench_case("b")], rounds: 20)

        plan.each_slice(2) { |pair| assert_equal 1, pair.map(&:first).uniq.size }
      end

      def test_the_order_is_random_and_the_seed_repeats_it
        plan = Plan.new([bench_case("a"), bench_case("b")], rounds: 20, seed: 7)
        firsts = plan.each_slice(2).map { |pair| pair.first[1].name }

        assert_equal %w[peer plait], firsts.uniq.sort
        assert_equal plan.to_a, Plan.new(plan.map(&:first).uniq.sort_by(&:name), rounds: 20, seed: 7).to_a
      end

      def test_a_case_may_have_rounds_of_its_own_unless_the_number_is_forced
        cases = [bench_case("a"), bench_case("b", rounds: 2)]

        assert_equal 5 + 2, Plan.new(cases, rounds: 5).size / 2
        assert_equal 5 + 5, Plan.new(cases, rounds: 5, forced: true).size / 2
      end

      private

      def bench_case(name, rounds: nil)
        contestants = [Contestant.new("plait", :plait, []), Contestant.new("peer", :peer, [])]
        Case.new(name: name, title: name, file: "", sizes: {}, metrics: [], contestants: contestants, rounds: rounds)
      end
    end
  end
end
