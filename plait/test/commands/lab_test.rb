# frozen_string_literal: true

require "test_helper"
require "support/command_line"
require "json"

class LabCommandTest < Minitest::Test
  include Support::CommandLine

  QUICK = %w[--scale 0.002 --rounds 1 --on sequence,threads].freeze

  def hard_timeout = 300

  def test_the_answer_first_and_nothing_else
    result = plait("lab", "waiting", *QUICK, "--rounds", "6", "--scale", "0.02")
    assert_equal 0, result.code, result.err
    assert_operator result.out.lines.size, :<=, 12
    assert_match(/\Aplait [^\n]+\n\n  what the work does  use .* sure\?\n +─+\n  waits: 3 sleeps +(threads|sequence|–)/,
                 result.out)
    assert_match(/^  Your own code: plait advise FILE.rb\n  All figures: plait lab waiting --tables\n/, result.out)
    assert_equal "report: plait-report.html", result.out.lines.last.chomp
    assert_match(%r{\A<!doctype html>.*what the work does.*threads.*</html>\s*\z}mi, File.read(path("plait-report.html")))
    refute_match(/\e/, result.out + result.err)
  end

  def test_tables_where_they_are_asked_for
    result = plait("lab", "waiting", *QUICK, "--tables", "--no-html")
    assert_equal 0, result.code, result.err
    assert_match(/too few rounds \(1\)\n\nWaiting: three functions/, result.out)
    assert_match(/^  sequence.* \d+(\.\d+)? ms.* ×/, result.out)
    refute_match(/fastest|All figures/, result.out)
  end

  def test_without_a_terminal_progress_is_plain_lines
    result = plait("lab", "waiting", *QUICK)
    assert_match(/\Aplait: 0 of 2 steps, waiting: starting\n/, result.err)
    assert_empty plait("lab", "waiting", *QUICK, "--quiet").err
  end

  def test_json_on_standard_output_is_nothing_but_json
    result = plait("lab", "waiting", *QUICK, "--json", "--no-html")
    assert_equal 0, result.code, result.err
    report = JSON.parse(result.out).fetch("reports").first
    assert_equal(%w[sequence threads], report.fetch("rows").map { |row| row["on"] })
    assert_match(/waits: 3 sleeps/, result.err)
    assert_empty Dir.children(folder).grep(/\Aplait-report/)
  end

  def test_a_saved_report_is_shown_again
    plait("lab", "waiting", *QUICK, "--json", "a.json", "--no-html")
    shown = plait("lab", "report", "a.json")
    assert_equal 0, shown.code, shown.err
    assert_match(/what the work does.*waits: 3 sleeps.*\nreport: plait-report\.html\Z/m, shown.out)
    markdown = plait("lab", "report", "--markdown", "a.json", "--no-html")
    assert_match(/\A# Plait lab$/, markdown.out)
    assert_match(/waits: 3 sleeps/, markdown.err)
    refute_match(/what is allocated|time +min/, shown.out)
    assert_match(/^  sequence +\d/, plait("lab", "report", "a.json", "--tables", "--no-html").out)
  end

  def test_two_saved_reports_side_by_side
    plait("lab", "waiting", *QUICK, "--json", "a.json", "--no-html")
    result = plait("lab", "diff", "a.json", "a.json")
    assert_equal 0, result.code, result.err
    assert_match(/^ +before +after  after ÷ before  said\n.*^  sequence .*  1\.00 ×  not settled\n/m, result.out)
    assert_match(/\nOf 2 rows 2 not settled\.\n\z/, result.out)
    assert_match(/^\| sequence \|.*\| 1\.00 × \| not settled \|$/, plait("lab", "diff", "a.json", "a.json", "--markdown").out)
    refute_path_exists path("plait-report.html")
  end

  def test_bad_input_of_saved_reports
    File.write(path("odd.json"), "{}")
    { %w[report] => /takes 1 file, not 0: plait lab report FILE\.json/, %w[diff odd.json] => /takes 2 files, not 1/,
      %w[report none.json] => /can't read none\.json: No such file/, %w[report odd.json] => /odd\.json is no report/,
      %w[diff odd.json --markdown odd.json] => /--markdown has taken odd\.json: put it behind the files/,
      %w[report --html odd.json] => /--html has taken odd\.json/, %w[diff odd.json odd.json --json] => /--json has no effect/,
      %w[report odd.json --csv odd.json] => /odd\.json would be overwritten/,
      %w[report odd.json --rounds 3] => /--rounds has no effect on what was measured before/,
      %w[waiting computing] => /plait lab takes one argument at most: "computing" is one too many/ }.each do |words, message|
      result = plait("lab", *words)
      assert_equal [2, ""], [result.code, result.out], words.inspect
      assert_match(message, result.err)
    end
  end

  def test_json_before_the_suite
    result = plait("lab", "--json", "waiting", *QUICK, "--no-html")
    assert_equal "waiting", JSON.parse(result.out).dig("reports", 0, "workload", "name")
    refute_path_exists path("waiting")
  end

  def test_files
    result = plait("lab", "waiting", *QUICK, "--json", "a.json", "--csv", "a.csv", "--html", "a.html")
    assert_equal %w[a.csv a.html a.json], Dir.children(folder).grep(/\Aa\./).sort
    assert_equal %w[a.json a.csv a.html], result.out.scan(/^report: (.*)$/).flatten
    assert_equal 2, JSON.parse(File.read(path("a.json"))).dig("reports", 0, "rows").size
    assert_equal 3, File.readlines(path("a.csv")).size
  end

  def test_csv_on_standard_output
    lines = plait("lab", "waiting", *QUICK, "--csv", "--no-html").out.lines
    assert_equal 3, lines.size
    assert_equal [lines.first.count(",")], lines.map { |line| line.gsub(/"[^"]*"/, "").count(",") }.uniq
  end

  def test_rounds_and_seed
    result = plait("lab", "waiting", *QUICK, "--rounds", "2", "--seed", "7", "--json", "--no-html")
    report = JSON.parse(result.out).fetch("reports").first
    assert_equal [7, { "asked" => 2, "done" => 2 }], report.values_at("seed", "rounds")
    assert_equal([2, 2], report["rows"].map { |row| row["n"] })
  end

  def test_a_budget_leaves_out_rounds_and_says_so
    result = plait("lab", "waiting", *QUICK, "--rounds", "50", "--budget", "0.01", "--no-html")
    assert_equal 0, result.code, result.err
    assert_match(/too few rounds \(1\)/, result.out)
  end

  def test_options_without_effect_are_mentioned
    result = plait("lab", "waiting", *QUICK, "--requests", "3", "--no-html")
    assert_equal 0, result.code
    assert_match(/^plait: --requests has no effect on "waiting"$/, result.err)
  end

  def test_http_with_limits
    result = plait("lab", "http", "--requests", "4", "--latency", "0.001", "--limit", "2,4", "--rounds", "1",
                   "--on", "fibers", "--json", "--no-html")
    assert_equal 0, result.code, result.err
    limits = JSON.parse(result.out).dig("reports", 0, "rows").map { |row| row["limit"] }
    assert_equal [2, 4], limits.uniq.sort
  end

  def test_rpc_with_sizes_and_trials
    result = plait("lab", "rpc", "--sizes", "1,2", "--trials", "2", "--on", "sequence", "--csv", "--no-html")
    assert_equal(0, result.code, result.err)
    lines = result.out.lines.drop(1)
    assert_equal(10, lines.size)
    assert(lines.all? { |line| line.match?(/"?Local|Sync|Async/) && line.include?(",2,") }, result.out)
    assert_match(/^  gets by RPC: 2 MB +–/, result.err)
  end

  NO_MSGPACK = <<~RUBY
    Object.prepend(Module.new do
      private def require(name) = name == "msgpack" ? raise(LoadError, "cannot load such file -- msgpack") : super
    end)
  RUBY
  private_constant :NO_MSGPACK

  def test_without_msgpack
    result = plait("lab", "rpc", prelude: NO_MSGPACK)
    assert_equal(69, result.code)
    assert_match(/needs the gem msgpack/, result.err)
  end

  def test_all_suites_and_those_without_the_mechanism_left_out
    result = plait("lab", "--scale", "0.001", "--rounds", "1", "--on", "processes+threads", "--json", "--no-html")
    assert_equal 0, result.code, result.err
    assert_match(/^plait: the suite http has no row on processes\+threads, only on .*; it is left out$/, result.err)
    names = JSON.parse(result.out)["reports"].map { |report| report["workload"]["name"] }
    assert_equal ["waiting"], names
  end

  def test_a_mechanism_without_a_row_beside_one_with_is_mentioned
    result = plait("lab", "waiting", *QUICK, "--on", "threads,threads+fibers", "--no-html")
    assert_equal 0, result.code, result.err
    assert_match(/^plait: nothing here has a row on threads\+fibers; it is left out$/, result.err)
  end

  def test_on_a_narrow_terminal_the_answer_stays
    result = plait("lab", "waiting", *QUICK, "--no-html", "--tables", env: { "COLUMNS" => "46" })
    assert_equal 0, result.code, result.err
    assert_match(/^ +time +compared$/, result.out)
    assert_match(/^  what th.* use  sure\?$/, result.out)
    assert_match(%r{left out, for want of width: .*functions/s}m, result.out)
    assert_empty(result.out.lines(chomp: true).select { |line| line.size > 46 })
  end

  def test_names_beyond_ascii_in_a_locale_without_unicode
    Dir.mkdir(path("\u00fc"))
    write("\u00fc/w\u00f6rk.rb", "items { [1] }\nbody { |x| x }\n")
    result = plait("compare", "\u00fc/w\u00f6rk.rb", "--on", "sequence", "--rounds", "1", "--html", "\u00fc/r.html",
                   env: { "LC_ALL" => "C" })
    assert_equal 0, result.code, result.err
    assert_predicate result.out, :ascii_only?
    assert_path_exists path("\u00fc/r.html")
  end

  def test_ascii_in_a_locale_without_unicode
    result = plait("lab", "waiting", *QUICK, "--no-html", env: { "LC_ALL" => "C" })
    assert_equal 0, result.code, result.err
    assert_predicate result.out, :ascii_only?
    assert_match(/in sequence -> with it/, result.out)
  end
end
