# frozen_string_literal: true

require "test_helper"
require "plait/cli"
require "support/command_line"

class FailureTest < Minitest::Test
  include Support::CommandLine

  BUG = "require \"plait/cli\"\nrequire \"plait/commands/version\"\n" \
        "Plait::CLI::Version.prepend(\n  Module.new { def call = nil.bug }\n)\n"

  def test_a_bug_is_one_sentence_and_a_file
    result = plait("version", prelude: BUG, env: { "TMPDIR" => folder })
    assert_equal 70, result.code, result.err
    assert_match(/\Aplait: a bug in plait: undefined method .bug' .*\(NoMethodError\)\. The backtrace is in [^\n]+\n\z/,
                 result.err)
    crash = File.read(result.err[/is in (\S+)/, 1])
    assert_match(/\Aplait #{Plait::VERSION}, .*\nplait version\n/, crash)
    assert_match(/prelude\.rb:4:in/, crash)
  end

  def test_the_backtrace_on_demand
    result = plait("version", prelude: BUG, env: { "TMPDIR" => folder, "PLAIT_DEBUG" => "1" })
    assert_equal 70, result.code
    assert_match(/^.*prelude\.rb:4:in/, result.err)
  end

  def test_a_crash_without_a_folder_to_write_to
    result = plait("version", env: { "TMPDIR" => folder }, prelude: <<~RUBY)
      #{BUG}
      require "tempfile"
      Tempfile.singleton_class.prepend(Module.new { def create(*) = raise(Errno::ENOSPC) })
    RUBY
    assert_equal [70, 1], [result.code, result.err.lines.size]
    assert_match(/PLAIT_DEBUG=1 shows the backtrace/, result.err)
  end

  def test_no_permission_to_fork
    skip "there is no fork here" unless Process.respond_to?(:fork)
    result = plait("lab", "waiting", "--scale", "0.001", "--rounds", "1", "--on", "sequence", "--no-html",
                   prelude: <<~RUBY)
                     Process.singleton_class.prepend(Module.new { def fork = raise(Errno::EAGAIN, "fork(2)") })
                   RUBY
    assert_equal 77, result.code, result.err
    assert_match(/^plait: the system refuses a new process [^\n]*ulimit -u[^\n]*\n\z/, result.err)
  end

  def test_statuses
    {
      Interrupt.new => 130, NoMemoryError.new => 1, RuntimeError.new("x") => 70,
      Plait::UsageError.new("x") => 2, Plait::UnsupportedError.new("x") => 69, Plait::WorkerDied.new => 1,
      Plait::CLI::Terminal::Closed.new => 0, Plait::CLI::Terminal::Unwritable.new => 73
    }.each do |error, status|
      assert_equal status, Plait::CLI::Failure.new(error).status, error.class
    end
  end

  def test_every_class_that_is_named_exists
    require "plait/lab"
    require "plait/suites"
    require "plait/suites/common/companion"
    require "plait/suites/common/suite"
    Plait::CLI::Failure::STATUSES.each_key { |name| assert_kind_of Class, Object.const_get(name) }
  end
end
