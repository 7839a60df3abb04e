# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/cli"

# How words and options are told apart.
class CommandsTest < Minitest::Test
  Options = Plait::CLI::Commands.const_get(:Options)
  DECLARED = { json: { lazy: "-" }, out: { default: "here", alias: "-o" }, directory: { alias: "--dir" }, count: {},
               quiet: { type: :boolean, alias: "-q" }, "per-host": {}, header: { alias: "-H", repeatable: true } }.freeze

  def test_words_and_options_in_any_order
    assert_equal [%w[a b], { "count" => "3", "quiet" => true }], split("a --count 3 b --quiet")
    assert_equal [%w[a], { "count" => "3", "per-host" => "x=y" }], split("--count=3 a --per_host=x=y")
    assert_equal [%w[--quiet -1], {}], split("-- --quiet -1")
  end

  def test_values_that_begin_with_a_dash
    assert_equal [[], { "count" => "-1", "out" => "-" }], split("--count -1 -o -")
    assert_equal [%w[a], { "directory" => "-", "out" => "-.5" }], split("--dir - --out -.5 a")
    assert_equal [%w[-], { "quiet" => true }], split("--quiet -")
  end

  def test_options_without_a_value
    assert_equal [[], { "json" => "-", "count" => "" }], split("--json --count")
    assert_equal [[], { "out" => nil, "quiet" => false }], split("--no-out --no-quiet")
    assert_equal [%w[x], { "quiet" => true, "out" => "f" }], split("-qof x")
  end

  def test_an_option_that_may_be_given_several_times
    assert_equal [[], { "header" => %w[a] }], split("-H a")
    assert_equal [[], { "header" => %w[a b c] }], split("-H a --header=b --header c")
  end

  def test_what_is_refused
    { "--coun 3" => "unknown option --coun; did you mean \"--count\"?", "-j" => "unknown option -j", "-1" => "unknown option -1",
      "--help" => "unknown option --help", "--version" => "unknown option --version", "--quiet=1" => "--quiet takes no value",
      "-qx" => "unknown option -x" }.each do |words, message|
      assert_includes assert_raises(Plait::UsageError, words) { split(words) }.message, message
    end
  end

  private

  # Without what only stands for the default.
  def split(words)
    rest, options = Options.new(DECLARED).split(words.split)
    [rest, options.reject { |_, value| value == "here" }]
  end
end
