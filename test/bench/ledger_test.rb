# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../../bench/harness/case"
require_relative "../../bench/harness/goal"
require_relative "../../bench/harness/json_report"
require_relative "../../bench/harness/ledger"
require_relative "../../bench/harness/metric"
require_relative "../../bench/harness/report"

module Bench
  module Harness
    # The ledger and the two reports that are read off it.
    class LedgerTest < Minitest::Test
      CPU = Metric.cpu("item")
      PEAK = Metric.figure("peak", unit: "requests", lower_is_better: false)
      # Contestant => CPU microseconds an item in each round.
      CPU_US = { "plait" => [2, 3, 4], "slow" => [10, 8, 12], "fast" => [5, 6, 4], "floor" => [1, 1, 2] }.freeze

      def setup
        @case = Case.new(name: "case", title: "a case", file: "", sizes: {}, metrics: [CPU, PEAK],
                         contestants: contestants, goals: [Goal.new(metric: CPU.name, against: "slow", at_most: 0.5)])
        @ledger = Ledger.new(@case)
        CPU_US.each { |name, rounds| rounds.each.with_index(1) { |cpu, round| record(name, round, cpu) } }
        @ledger.record(@case.contestant("absent"), 1, Failure.new("not installed: gem absent"))
      end

      def test_figures_are_medians_an_operation
        assert_equal({ median: 3.0, min: 2.0, max: 4.0, n: 3 }, @ledger.summary(@case.plait, CPU).to_h)
      end

      def test_one_that_was_killed_for_its_time_has_hung_and_one_that_failed_has_not
        @ledger.record(@case.contestant("slow"), 4, Failure.new("killed", true))

        assert(@ledger.hung?(@case.contestant("slow")))
        refute(@ledger.hung?(@case.contestant("absent")))
      end

      def test_the_best_peer_is_the_one_with_the_best_median_in_that_metric
        assert_equal "fast", @ledger.best_peer(CPU).name
        assert_equal "slow", @ledger.best_peer(PEAK).name
      end

      def test_ratios_are_plait_over_the_other
        assert_in_delta 0.3, @ledger.ratio(@case.contestant("slow"), CPU)
        assert_in_delta 1 / 3.0, @ledger.paired_ratio(@case.contestant("slow"), CPU)
        assert_nil @ledger.ratio(@case.contestant("absent"), CPU)
      end

      def test_a_goal_is_judged_by_the_paired_ratio_it_names
        assert_in_delta 1 / 3.0, @ledger.judged(@case.goals.first)
        assert_in_delta 0.5, @ledger.judged(Goal.new(metric: CPU.name, of: "fast", against: "slow", at_most: 1))
        assert_in_delta 5.0, @ledger.judged(Goal.new(metric: CPU.name, of: "fast", at_most: 1))
      end

      def test_json_has_the_schema_of_every_bench
        report = JSON.parse(JsonReport.new("core", { "ruby" => "3.1" }, [@ledger]).to_json)

        assert_equal [1, "core", { "ruby" => "3.1" }], report.values_at("schema", "subject", "environment")
        entry = report["cases"].first

        assert_equal %w[case metric unit lower_is_better plait peers floor ratio_to_best_peer ratio_to_floor],
                     entry.keys
        assert_equal ["case", "cpu_us_per_item", "us", true], entry.values_at(*entry.keys.first(4))
        assert_equal({ "median" => 3.0, "min" => 2.0, "max" => 4.0, "n" => 3 }, entry["plait"])
      end

      def test_json_ratios_and_a_missing_peer
        entry = JsonReport.new("core", {}, [@ledger]).to_h["cases"].first

        assert_equal [0.6, 3.0], entry.values_at("ratio_to_best_peer", "ratio_to_floor")
        assert_equal({ "missing" => "not installed: gem absent" }, entry["peers"]["absent"])
        assert_in_delta 0.5, entry["peers"]["fast"]["paired_ratio"]
      end

      def test_the_text_shows_figures_ratios_missing_peers_and_goals
        text = Report.new({ "ruby" => "3.1" }, [@ledger]).to_s

        assert_match(/^- ruby: 3\.1$/, text)
        assert_match(/^ +slow +10\.0 +8\.00–12\.0 .* 0\.300 /, text)
        assert_match(/^ +absent: not installed: gem absent$/, text)
        assert_match(/^ +case +cpu_us_per_item +≤ 0.5 × slow +0\.333 +met$/, text)
      end

      def test_a_round_in_which_nothing_was_done_has_no_figure
        @ledger.record(@case.contestant("fast"), 4, Sample.new(operations: 0, cpu: 1.0, result: "same", figures: {}))

        assert_equal 3, @ledger.summary(@case.contestant("fast"), CPU).n
        assert_match(/^ +fast/, Report.new({}, [@ledger]).to_s)
      end

      def test_no_speed_is_shown_when_results_differ
        @ledger.record(@case.contestant("slow"), 3, sample(1, result: "another"))

        assert_predicate @ledger, :mismatch?
        assert_match(/results differ, so no speed is shown$.*^ +slow +"another"$/m, Report.new({}, [@ledger]).to_s)
        entry = JsonReport.new("core", {}, [@ledger]).to_h["cases"].first

        assert_equal [{ "missing" => "results differ" }, nil], entry.values_at("plait", "ratio_to_floor")
      end

      private

      def contestants
        peers = %w[slow fast absent].map { |name| Contestant.new(name, :peer, []) }
        [Contestant.new("plait", :plait, []), *peers, Contestant.new("floor", :floor, [])]
      end

      # The peak is as high as the CPU time, for the sake of the test.
      def record(name, round, cpu_us) = @ledger.record(@case.contestant(name), round, sample(cpu_us))

      def sample(cpu_us, result: "same")
        Sample.new(operations: 10, cpu: cpu_us * 10 / 1e6, result: result, figures: { "peak" => cpu_us })
      end
    end
  end
end
