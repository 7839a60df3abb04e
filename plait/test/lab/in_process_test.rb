# frozen_string_literal: true

# bin/test: jruby

require_relative "builders"

class LabInProcessTest < Minitest::Test
  InProcess = Plait::Lab.const_get(:InProcess)
  Failed = Plait::Lab.const_get(:FreshProcess)::Failed

  def test_the_block_runs_here
    assert_equal([Process.pid, 7], InProcess.new(bound: 1).call { |ready| [ready.call, Process.pid].compact << 7 })
  end

  def test_advice_needs_forks
    Plait::Lab.const_get(:FreshProcess).stub(:supported?, false) do
      error = assert_raises(Plait::UnsupportedError) { Plait.advise([1, 2]) { flunk } }
      assert_match(/no fork; Plait.compare measures without\z/, error.message)
    end
  end

  def test_errors_become_sentences
    assert_match(/\AKeyError: no, at /, assert_raises(Failed) { InProcess.new.call { |_| raise KeyError, "no" } }.message)
    assert_equal(:unsupported, assert_raises(Failed) { InProcess.new.call { |_| raise Plait::UnsupportedError } }.kind)
    assert_match(/\ASystemExit: exit, at /, assert_raises(Failed) { InProcess.new.call { |_| exit } }.message)
    assert_raises(Interrupt) { InProcess.new.call { |_| raise Interrupt } }
  end
end
