# frozen_string_literal: true

require "test_helper"
require "plait/cli"
require "plait/cli/campaign"
require "plait/lab"
require "support/command_line"
require "support/fake_stream"

class ProgressTest < Minitest::Test
  include Support::CommandLine

  Cell = Struct.new(:label)
  Workload = Struct.new(:name)

  QUICK = %w[lab waiting --scale 0.03 --rounds 2 --on sequence,threads --tables --no-html].freeze

  def test_a_bar_on_a_terminal
    result = plait_on_terminal(*QUICK, "--rounds", "6")
    assert_equal 0, result.code, result.out
    assert_match(%r{[█░]+ \d/14  (a few seconds left  )?waiting: (sequence|threads)[^\r]*, round 1 of 6}, result.out)
    assert_match(/counting memory/, result.out)
    assert_match(/\e\[32m  (sequence|threads)[^\n]*fastest/, result.out)
  end

  def test_no_line_of_the_bar_is_wider_than_the_terminal
    [40, 70, 120].each do |columns|
      result = plait_on_terminal(*QUICK, columns: columns)
      bars = result.out.split(/\r|\n|\e\[1G|\e\[2K/).grep(/[█░]/)
      refute_empty bars
      bars.each { |bar| assert_operator bar.gsub(/\e\[[\d;]*[A-Za-z]/, "").rstrip.size, :<, columns }
    end
  end

  def test_tables_fit_the_terminal_and_say_what_is_left_out
    result = plait_on_terminal(*QUICK, columns: 60)
    assert_match(/\(left out, for want of width: [^)]*n, /, result.out.gsub(/\e\[[\d;]*m|\r/, ""))
    tables = result.out.gsub(/\e\[[\d;]*m|\r/, "").lines(chomp: true).grep(/^  (sequence|threads|─)/)
    refute_empty tables
    tables.each { |line| assert_operator line.size, :<=, 60 }
  end

  def test_no_colours_where_none_are_wanted
    result = plait_on_terminal(*QUICK, env: { "NO_COLOR" => "1" })
    refute_match(/\e\[[\d;]+m/, result.out.gsub("\e[0m", ""))
    assert_match(/what the work does/, result.out)
  end

  def test_a_dumb_terminal_gets_lines
    result = plait_on_terminal(*QUICK, env: { "TERM" => "dumb" })
    assert_match(/^plait: 0 of 6 steps, waiting: starting/, result.out)
    refute_match(/\e/, result.out)
  end

  def test_quiet
    result = plait_on_terminal(*QUICK, "--quiet")
    refute_match(/[█░]/, result.out)
    assert_match(/what the work does/, result.out)
  end

  def test_lines_now_and_then
    display = lines(interval: 3_600)
    display.show(done: 0, total: 4, left: nil, what: "waiting: starting", fresh: true)
    display.show(done: 1, total: 4, left: 30.4, what: "waiting: threads")
    display.show(done: 2, total: 4, left: 130, what: "http: starting", fresh: true)
    assert_equal "plait: 0 of 4 steps, waiting: starting\nplait: 2 of 4 steps, http: starting, about 2 min left\n",
                 err.string
  end

  def test_every_line_where_the_interval_is_over
    display = lines(interval: 0)
    3.times { |done| display.show(done: done, total: 3, left: 3.0, what: "threads") }
    assert_equal 3, err.string.lines.size
    assert_match(/^plait: 2 of 3 steps, threads, a few seconds left$/, err.string)
  end

  def test_steps_are_counted_over_all_sessions
    progress = Plait::CLI::Progress.new(terminal, [4, 6], rounds: 2)
    events(progress, total: 5)
    assert_equal [5, 11], [progress.done, progress.total]
    progress.call({ type: :session_started, done: 0, total: 6, workload: Workload.new("http") })
    progress.call({ type: :trial_started, done: 2, total: 6, cell: Cell.new("fibers"), round: 1 })
    assert_equal [7, 11], [progress.done, progress.total]
  end

  private

  def events(progress, total:)
    progress.call({ type: :session_started, done: 0, total: total, workload: Workload.new("waiting") })
    progress.call({ type: :trial_finished, done: total, total: total })
    progress.call({ type: :session_finished, done: total, total: total })
  end

  def lines(interval:) = Plait::CLI::ProgressLines.new(terminal, interval: interval)

  def terminal = Plait::CLI::Terminal.new(out: Support::FakeStream.new, err: err, env: {})

  def err = @err ||= Support::FakeStream.new
end
