# frozen_string_literal: true

require "json"
require "open3"
require "tmpdir"
require_relative "../test_helper"

module Bench
  module Harness
    # A whole run of a small subject, as `bin/bench` starts it.
    class CommandTest < Minitest::Test
      RUN = File.expand_path("fixtures/run.rb", __dir__)
      BENCH = File.expand_path("../../bin/bench", __dir__)

      def test_a_run_prints_tables_and_writes_json
        Dir.mktmpdir do |folder|
          file = File.join(folder, "report.json")
          page = File.join(folder, "results.md")
          out, err, status = run_bench("--only", "sums", "--rounds", "2", "--json", file, "--markdown", page)

          assert_predicate status, :success?, err
          assert_match(/^ +sums: adding up$/, out)
          assert_match(/^ +absent: not installed/, out)
          assert_equal [2, 2], counts(JSON.parse(File.read(file)))
          assert File.read(page).start_with?("# bin/bench fixture\n"), "a page with a title"
          assert_match(/^\*\*sums: adding up\*\*$.*^\| sum \|.*^- absent: not installed/m, File.read(page))
        end
      end

      def test_results_that_differ_fail_the_run
        out, _, status = run_bench("--quick", "--only", "differing")

        assert_equal 1, status.exitstatus
        assert_match(/The results differ, so no speed is shown/, out)
      end

      def test_a_report_that_cannot_be_written_loses_no_figures
        out, err, status = run_bench("--quick", "--rounds", "1", "--only", "sums", "--json", "/no/such/folder/x.json")

        assert_equal 73, status.exitstatus
        assert_match(/cpu_us_per_number/, out)
        assert_match(%r{can't be written to /no/such/folder/x.json}, err)
      end

      def test_wrong_options_are_told
        { ["--rounds", "0"] => /at least 1/, ["--slowly"] => /invalid option: --slowly/,
          ["--only", "nothing"] => /no case is named like nothing; there are:\n {2}sums/ }.each do |options, message|
          _, err, status = run_bench(*options)

          assert_equal 2, status.exitstatus
          assert_match(message, err)
        end
      end

      def test_an_unknown_subject_lists_those_that_exist
        _, err, status = Open3.capture3(RbConfig.ruby, BENCH, "astrology")

        assert_equal 2, status.exitstatus
        assert_match(/no such bench: astrology.*^Subjects: .*core/m, err)
      end

      private

      def run_bench(*options) = Open3.capture3(RbConfig.ruby, RUN, *options)

      def counts(report)
        entry = report["cases"].first
        [entry["plait"]["n"], entry["floor"]["n"]]
      end
    end
  end
end
