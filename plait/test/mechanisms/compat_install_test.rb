# frozen_string_literal: true

require "test_helper"
require "support/fresh_ruby"

# When the mends come: with the first scheduler, and whole, whichever thread makes that.
class CompatInstallTest < Minitest::Test
  # The first mend waits here, in the thread that installs.
  HELD = <<~RUBY
    require "plait"
    require "plait/mechanisms/scheduler"
    Patches = Plait.const_get(:Patches)
    class << Patches::ALL.first
      prepend(Module.new { def install = (HELD[:begun] << true) && HELD[:let_go].pop && super })
    end
    HELD = { begun: Queue.new, let_go: Queue.new }
    def mended? = Thread < Patches::ThreadPatches::SharedThread::Variables && Process.singleton_class < Patches::ProcessPatches::Fork && Mutex < Patches::MutexPatches::MutexSleep == Patches.mutex_sleep?
  RUBY

  def assert_prints(expected, code)
    result = Support::FreshRuby.run(HELD + code)

    assert_equal([expected, ""], [result.out, result.err])
  end

  def test_a_second_thread_waits_until_the_first_has_installed_all
    assert_prints("[true]", <<~RUBY)
      first = Thread.new { Plait::Scheduler.new.close }
      HELD[:begun].pop
      others = Array.new(20) { Thread.new { Plait::Scheduler.new.close && nil; mended? } }
      others.each { |other| other.join(0.01) }
      20.times { HELD[:let_go] << true }
      print others.map(&:value).uniq.inspect
      first.join
    RUBY
  end

  def test_a_thread_that_is_killed_meanwhile_leaves_it_to_the_next
    assert_prints("true", <<~RUBY)
      first = Thread.new { Plait::Scheduler.new }
      HELD[:begun].pop
      first.kill.join
      HELD[:let_go] << true
      Plait::Scheduler.new.close
      print mended?
    RUBY
  end

  def test_a_fork_meanwhile
    skip "no fork" unless Process.respond_to?(:fork)
    assert_prints("true", <<~RUBY)
      first = Thread.new { Plait::Scheduler.new.close }
      HELD[:begun].pop
      Process.wait(fork do
        HELD[:let_go] << true
        Plait::Scheduler.new.close
        print mended?
      end)
      HELD[:let_go] << true
      first.join
    RUBY
  end

  def test_a_signal_handler_meanwhile
    assert_prints("true", <<~RUBY)
      trap("USR1") do
        HELD[:let_go] << true << true
        Plait::Scheduler.new
        print mended?
      end
      Thread.new { HELD[:begun].pop && Process.kill(:USR1, Process.pid) }
      Plait::Scheduler.new.close
    RUBY
  end

  def test_every_mend_can_be_installed_twice
    assert_prints("[true, 3]", <<~RUBY)
      HELD[:let_go] << true << true
      2.times { Patches::ALL.each(&:install) }
      Thread.current.priority = 3
      print [mended?, Thread.current.priority]
    RUBY
  end
end
