# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../../bench/harness"

module Bench
  module Harness
    class LauncherTest < Minitest::Test
      ROOT = File.expand_path("../..", __dir__)
      FIXTURE = File.expand_path("fixtures/sums.rb", __dir__)

      def test_a_contestant_runs_in_a_process_of_its_own_and_reports
        sample = launch("sums", "sum")

        assert_equal [1_000, 500_500], [sample.operations, sample.result]
        assert_operator sample.cpu_us, :>=, 0
        assert_operator sample.wall, :>, 0
      end

      def test_quick_takes_the_small_sizes
        assert_equal 55, launch("sums", "sum", quick: true).result
      end

      def test_a_gem_that_is_not_installed_is_said_to_be_missing
        assert_equal "not installed: gem plait-no-such-gem",
                     launch("sums", "absent", gems: %w[plait-no-such-gem]).reason
      end

      def test_what_goes_wrong_is_told_in_a_sentence
        assert_match(/\Ano luck \(ArgumentError\)/, launch("troubled", "raising").reason)
        assert_match(/the contestant reported nothing/, launch("troubled", "silent").reason)
        assert_match(/ended without a word .*exit 3/, launch("troubled", "leaving").reason)
      end

      def test_one_that_hangs_is_killed_with_its_children
        assert_no_leaks do
          assert_equal "killed after 0.5 s without an answer", launch("troubled", "hanging", patience: 0.5).reason
        end
      end

      def test_one_that_leaves_a_child_with_its_pipes_behind_holds_nobody_up
        began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        sample = launch("troubled", "deserting")
        Process.kill(:KILL, sample.result)

        assert_equal 1, sample.operations
        assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - began, :<, 60
      end

      def test_the_load_path_holds_the_gem_and_its_dependencies_alone
        paths = GemPaths.new(ROOT).resolve(%w[plait])

        assert_equal(Support::LIBS.sort, paths.first(Support::LIBS.size).sort)
        assert(paths.any? { |path| path.include?("/io-event-") })
        refute(paths.any? { |path| path.include?("/minitest-") })
      end

      private

      def launch(case_name, contestant, gems: [], quick: false, **options)
        bench_case = Case.new(name: case_name, title: "", file: FIXTURE, sizes: {}, metrics: [], contestants: [])
        launcher = Launcher.new(GemPaths.new(ROOT), quick: quick, **options)
        launcher.run(bench_case, Contestant.new(contestant, :peer, gems))
      end
    end
  end
end
