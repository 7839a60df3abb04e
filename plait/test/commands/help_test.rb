# frozen_string_literal: true

require "test_helper"
require "plait/cli"
require "support/command_line"

class HelpTest < Minitest::Test
  include Support::CommandLine

  Commands = Plait::CLI::Commands

  def test_version
    result = plait("version")
    assert_equal 0, result.code
    assert_equal "plait #{Plait::VERSION} (#{RUBY_ENGINE} #{RUBY_ENGINE_VERSION}, #{RUBY_PLATFORM})\n", result.out
    assert_empty result.err
    assert_equal result.out, plait("--version").out
  end

  def test_without_a_command_all_of_them_are_listed
    result = plait
    assert_equal 0, result.code
    Commands.all.each { |command| assert_match(/^  #{Regexp.escape(command::USAGE)} +#{command::SUMMARY}$/, result.out) }
    assert_equal result.out, plait("help").out
    assert_equal result.out, plait("--help").out
  end

  def test_each_command_explains_all_its_options
    Commands.all.each do |command|
      result = plait("help", command.command_name)
      assert_equal 0, result.code
      command::OPTIONS.each { |name, about| assert_equal(!about[:instead], result.out.match?(/^  --#{name}\b/), name) }
      command::EXAMPLES.each_key { |example| assert_includes result.out, "  #{example}\n".chomp }
    end
  end

  def test_the_option_help_of_a_command
    assert_equal plait("help", "lab").out, plait("lab", "--help").out
    assert_equal plait("help", "compare").out, plait("compare", "work.rb", "-h").out
  end

  def test_a_verb_of_a_command_is_explained_with_the_command
    assert_equal plait("help", "rpc").out, plait("help", "rpc", "call").out
    assert_equal plait("help", "serve").out, plait("help", "serve", "status").out
  end

  def test_a_suite_is_explained_with_its_own_options
    help = plait("help", "lab", "rpc").out
    assert_match(/^  plait lab rpc \[options\]$/, help)
    assert_match(/^  --sizes MB.* +how large the answers are \(default: 1,2,4,8/, help)
    refute_match(/--requests|--latency/, help)
    assert_match(/^  --limit 1,8,64 /, plait("help", "lab", "http").out)
  end

  def test_the_suites_are_called_what_they_are
    require "plait/cli/lab/suite_campaign"
    assert_equal [*Plait::Suites.names.sort, "all"], Plait::CLI::Lab::SuiteCampaign::WORDS
  end

  def test_fits_the_width
    result = plait("help", "lab", env: { "COLUMNS" => "70" })
    long = result.out.lines(chomp: true).select { |line| line.size > 70 }
    assert_empty long
  end

  # What a command needs is loaded when it runs: nobody waits for the lab to see a version.
  def test_version_and_help_load_nothing_heavy
    heavy = "%r{plait/(lab|suites|mechanisms)|/(vega|tty-progressbar|io/event)\\b}"
    report = "at_exit { puts $LOADED_FEATURES.grep(#{heavy}) }"
    [%w[version], %w[help lab], %w[lab --help]].each do |arguments|
      loaded = plait(*arguments, prelude: report).out.lines.grep(/\.(rb|so)$/)
      assert_empty loaded
    end
  end

  def test_only_the_named_command_is_loaded
    report = "at_exit { puts $LOADED_FEATURES.grep(%r{plait/commands/}) }"
    loaded = plait("version", prelude: report).out.lines(chomp: true).drop(1)
    assert_equal(%w[version.rb], loaded.map { |path| File.basename(path) })
  end

  def test_the_beginning_of_one_name_only
    assert_equal plait("version").out, plait("ver").out
    assert_match(/unknown command "s"/, plait("s").err)
  end
end
