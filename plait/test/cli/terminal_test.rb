# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/cli"
require "plait/cli/terminal"
require "support/fake_stream"

class TerminalTest < Minitest::Test
  Terminal = Plait::CLI::Terminal

  def test_results_to_one_stream_notices_and_errors_to_the_other
    terminal.say("a", "b")
    terminal.note("c")
    terminal.complain("d")
    assert_equal "a\nb\n", out.string
    assert_equal "c\nd\n", err.string
  end

  def test_quiet_keeps_results_and_errors
    terminal.quiet = true
    terminal.say("result")
    terminal.note("in passing")
    terminal.complain("wrong")
    assert_equal ["result\n", "wrong\n"], [out.string, err.string]
  end

  def test_a_reserved_output_is_for_data_alone
    terminal.reserve_output
    terminal.say("for people")
    terminal.data("{}")
    assert_equal ["{}", "for people\n"], [out.string, err.string]
  end

  def test_colours_only_on_a_terminal
    assert_equal "x", terminal.paint("x", :bold)
    assert_equal "\e[1;31mx\e[0m", terminal(columns: 80).paint("x", :bold, :red)
    assert_equal "x", terminal(columns: 80).paint("x")
    assert_equal "x", terminal(columns: 80, env: { "NO_COLOR" => "1" }).paint("x", :bold)
    assert_equal "x", terminal(columns: 80, env: { "TERM" => "dumb" }).paint("x", :bold)
    assert_equal "\e[1mx\e[0m", terminal(columns: 80, env: { "NO_COLOR" => "" }).paint("x", :bold)
  end

  def test_width
    assert_equal 72, terminal(columns: 72).width
    assert_nil terminal.width
    assert_equal 60, terminal(env: { "COLUMNS" => "60" }).width
    assert_nil terminal(env: { "COLUMNS" => "wide" }).width
    assert_equal 80, terminal(columns: 0).width
  end

  def test_ascii_where_the_locale_has_nothing_else
    terminal.define_singleton_method(:unicode?) { false }
    terminal.say("── 2.0 × → ✓ 日")
    assert_equal "-- 2.0 x -> + ?\n", out.string
  end

  def test_data_are_never_changed
    terminal.define_singleton_method(:unicode?) { false }
    terminal.data("×")
    assert_equal "×", out.string
  end

  def test_a_reader_that_went_away_is_said_once
    reader, writer = IO.pipe
    terminal = Terminal.new(out: writer, err: err, env: {})
    terminal.say("a")
    reader.close
    assert_raises(Terminal::Closed) { terminal.say("b") }
    terminal.say("dropped")
  ensure
    writer&.close
  end

  def test_a_full_disk
    skip "there is no /dev/full here" unless File.exist?("/dev/full")
    File.open("/dev/full", "w") do |full|
      terminal = Terminal.new(out: full, err: err, env: {})
      error = assert_raises(Terminal::Unwritable) { terminal.say("a") }
      assert_equal "can't write the output: No space left on device", error.message
      terminal.say("dropped")
    end
  end

  def test_a_reader_that_was_never_there
    reader, writer = IO.pipe
    reader.close
    terminal = Terminal.new(out: writer, err: err, env: {})
    error = assert_raises(Terminal::Unwritable) { terminal.say("a") }
    assert_equal "can't write the output: standard output is closed, or no program reads it", error.message
    terminal.say("dropped")
  ensure
    writer&.close
  end

  def test_nobody_hears_complaints_on_a_broken_stream
    reader, writer = IO.pipe
    reader.close
    Terminal.new(out: out, err: writer, env: {}).complain("lost")
    assert_equal "", out.string
  ensure
    writer&.close
  end

  private

  def terminal(columns: nil, env: {})
    out.columns = columns
    return @terminal ||= Terminal.new(out: out, err: err, env: {}) if env.empty?

    Terminal.new(out: out, err: err, env: env)
  end

  def out = @out ||= Support::FakeStream.new

  def err = @err ||= Support::FakeStream.new
end
