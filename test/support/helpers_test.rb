# frozen_string_literal: true

require "etc"
require_relative "../test_helper"
require_relative "fresh_ruby"
require_relative "made_once"
require_relative "patience"
require_relative "run_queue"

# The test helper as a whole: what it makes of tests that misbehave, seen from outside.
class HelpersTest < Minitest::Test
  HELPER = File.join(Support::ROOT, "test/test_helper.rb")

  def test_wait_until_gives_what_came_true
    assert_equal("done", wait_until { "done" })
  end

  def test_wait_until_names_what_did_not_come_true
    error = assert_raises(Minitest::Assertion) { wait_until(timeout: 0.05, what: "the cow") { false } }
    assert_match(/the cow did not come true in 0.05 s/, error.message)
  end

  def test_times_grow_until_one_is_long_enough
    tried = []
    assert_equal(2, in_growing_times(1, 2, 3) { |seconds| (tried << seconds).last.tap { assert_operator(seconds, :>, 1) } })
    assert_equal([1, 2], tried)
    error = assert_raises(Minitest::Assertion) { in_growing_times(1, 3) { |seconds| flunk("no #{seconds}") } }
    assert_equal("no 3", error.message)
    assert_raises(Minitest::Skip) { in_growing_times(1, 2) { |seconds| (tried << seconds) && skip } }
    assert_equal([1, 2, 1], tried)
  end

  def test_what_is_made_once_is_whole
    key = [name, Process.pid.to_s]
    assert_raises(IOError) { Support::MadeOnce.made_once(*key) { |path| File.write(path, "half") && raise(IOError) } }
    made = Array.new(4) do |number|
      Thread.new { Support::MadeOnce.made_once(*key) { |path| File.write(path, number.to_s, mode: "a") } }
    end
    assert_equal(1, made.map(&:value).uniq.size)
    assert_match(/\A\d\z/, File.read(made.first.value))
  end

  def test_graces_are_longer_and_come_back
    job = Plait.const_get(:Offload)::Job
    before = job::GRACE
    assert_equal([60, 5], [Support::Patience.patiently { job::GRACE }, Support::Patience.patiently(5) { job::GRACE }])
    assert_raises(KeyError) { Support::Patience.patiently { raise KeyError } }
    assert_equal(before, job::GRACE)
  end

  def test_what_a_busy_machine_adds_to_a_time_is_known
    skip("only Linux tells") unless File.exist?("/proc/self/schedstat")
    children = []
    took, kept = Support::RunQueue.measure do
      before = Support::RunQueue.waited
      children = Array.new(Etc.nprocessors * 2) { fork { loop { nil } } }
      wait_until(timeout: 60) { Support::RunQueue.waited - before > 0.05 }
    end
    assert_operator(took, :>, 0)
    assert_operator(kept, :>, 0.05)
  ensure
    children.each { |pid| Process.kill(:KILL, pid) && Process.wait(pid) }
  end

  def test_what_waits_by_itself_is_not_the_machines
    best = Array.new(10) { Support::RunQueue.seconds { sleep(0.1) } }.max
    assert_operator(best, :>=, 0.05) # other threads of this process may wait for a processor meanwhile
  end

  def test_a_warning_about_our_file_fails_the_test
    result = run_test("eval('{ a: 1, a: 2 }', binding, '#{Support::ROOT}/plait/lib/plait/sample.rb', 7)")
    assert_match(%r{lib/plait/sample.rb:7: warning: key :a is duplicated}, result.out)
    refute_predicate(result, :success?)
  end

  def test_a_warning_in_a_thread_fails_the_test
    result = run_test("Thread.new { warn('#{Support::ROOT}/plait/lib/x.rb:1: warning: hm') rescue nil }.join; pass")
    assert_match(/a warning about our own file:\n.*hm/, result.out)
    refute_predicate(result, :success?)
  end

  def test_a_warning_about_a_gem_is_dropped
    result = run_test("eval('{ a: 1, a: 2 }', binding, '/x/gems/other-1.0/lib/other.rb', 7); pass")
    assert_predicate(result, :success?, result.out)
    assert_empty(result.err)
  end

  def test_an_expected_warning_is_collected
    heard = collect_warnings { warn("#{Support::ROOT}/plait/lib/x.rb:1: warning: expected") }
    assert_equal(["#{Support::ROOT}/plait/lib/x.rb:1: warning: expected\n"], heard)
  end

  def test_a_test_that_hangs_fails_with_all_backtraces
    result = run_test("Queue.new.pop", "PLAIT_TEST_TIMEOUT" => "0.2")
    assert_match(/SampleTest#test_sample took longer than 0.2 s/, result.out)
    assert_match(/All threads and fibers:\n.*#<Thread/, result.err)
    assert_match(/in `?'?.*pop/, result.err)
    refute_predicate(result, :success?)
  end

  def test_a_fiber_that_hangs_is_shown
    skip_without_fibers
    result = run_test("Plait.run(on: :fibers) { Queue.new.pop }", "PLAIT_TEST_TIMEOUT" => "0.5")
    assert_match(/#<Fiber.*\n.*\n(    .*\n)*    .*in [`'].*pop'/, result.err)
  end

  def test_a_test_that_does_not_listen_is_ended
    result = run_test("begin; sleep; rescue Exception; sleep; end", "PLAIT_TEST_TIMEOUT" => "0.2",
                                                                    "PLAIT_TEST_GRACE" => "0.2")
    assert_match(/ending the process/, result.err)
    assert_equal(1, result.status.exitstatus)
  end

  private

  def run_test(body, env = {})
    Support::FreshRuby.run(<<~RUBY, env: { "PLAIT_TALLY" => nil, "COVERAGE" => nil }.merge(env))
      require #{HELPER.dump}
      class SampleTest < Minitest::Test
        def test_sample
          #{body}
        end
      end
    RUBY
  end
end
