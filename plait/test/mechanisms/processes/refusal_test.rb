# frozen_string_literal: true

require "test_helper"
require "support/process_limit"
require "support/refused_thread"
require "minitest/mock"
require "plait/mechanisms/processes/forking"

# A system that gives no further process or thread: Ruby's own fork would try again for ever.
class ProcessesRefusalTest < Minitest::Test
  # Seconds until it must have been said: what hangs does so for ever.
  SOON = 30
  # A thread that has nothing left to do may need a moment to end.
  TELL = <<~RUBY.freeze
    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    def tell
      started = now
      result = begin
        yield
      rescue Plait::Error => e
        "\#{e.class}: \#{e.message}"
      end
      took = now - started
      sleep(0.01) until Thread.list.one? || now - started > #{SOON}
      p [result, took, children.size, Thread.list.size]
    end
  RUBY

  # @return [Object] what the code came to
  def under(limit, code)
    answer = Support::ProcessLimit.run(limit, "#{TELL}\ntell { #{code} }")
    assert_predicate(answer, :success?, answer.err)
    result, seconds, children, threads = eval(answer.out) # rubocop:disable Security/Eval -- our own `p`
    assert_operator(seconds, :<, SOON)
    assert_equal([0, 1], [children, threads], "left behind: children, threads")
    result
  end

  def need_forks_at_the_limit = Support::RefusedThread.need_survival_of_forks

  # The thread that forks is the last of them.
  def test_no_process_at_all
    need_forks_at_the_limit
    assert_match(/Unsupported.*can't start a worker process \(.*fork.*ulimit -u.*limit:/,
                 under(3, "Plait.map(1..60, on: :processes, limit: 50) { |x| x }"))
  end

  def test_not_even_a_thread
    [:processes, %i[processes threads], %i[processes fibers]].each do |on|
      assert_match(/Unsupported.*can't start a worker process \(can't create Thread.*ulimit -u/,
                   under(1, "Plait.map(1..60, on: #{on.inspect}, limit: 50) { |x| x }"))
    end
  end

  # Its guard is a thread, too.
  def test_a_process_that_gets_no_thread
    need_forks_at_the_limit
    assert_match(/Unsupported.*can't start a worker process \(can't create Thread.*ulimit -u/,
                 under(4, "Plait.map(1..60, on: :processes, limit: 50) { |x| x }"))
  end

  def test_the_workers_there_are_do_the_work
    need_forks_at_the_limit
    [8, 30].each do |limit|
      [:processes, %i[processes threads], %i[processes fibers]].each do |on|
        result = under(limit, "Plait.map(1..60, on: #{on.inspect}, limit: 50) { |x| sleep(0.01) && x }")

        assert_equal((1..60).to_a, result, "#{on} where there are #{limit}")
      end
    end
  end

  def test_items_with_a_time_limit
    need_forks_at_the_limit
    assert_equal((1..60).to_a, under(30, "Plait.map(1..60, on: :processes, limit: 50, timeout: 20) { |x| x }"))
  end

  def test_a_task_that_gets_no_thread
    assert_match(/Unsupported.*no thread.*ulimit -u/, under(1, "Plait.run(on: :processes) { |s| s.async { 1 }.value }"))
  end

  def test_tasks
    need_forks_at_the_limit
    assert_match(/Unsupported.*ulimit -u/,
                 under(4, "Plait.run(on: :processes) { |s| 20.times.map { s.async { 1 } }.map(&:value) }"))
  end

  def test_tasks_wait_for_the_processes_there_are
    need_forks_at_the_limit
    assert_equal((1..12).to_a, under(14, <<~RUBY))
      Plait.run(on: :processes, limit: 3) { |s| (1..12).map { |n| s.async(n) { |x| sleep(0.05) && x } }.map(&:value) }
    RUBY
  end

  def test_threads
    code = "Plait.map(1..60, on: :threads, limit: 50) { |x| sleep(0.01) && x }"

    assert_match(/Unsupported.*no thread.*ulimit -u/, under(1, code))
    assert_equal((1..60).to_a, under(5, code)) # from Ruby 3.3 on, one more is Ruby's own
  end

  TRIAL = "Plait::Lab.const_get(:FreshProcess).new(bound: 30).call { |ready| ready.call && 1 }"

  def test_a_trial_of_the_lab
    need_forks_at_the_limit
    assert_match(/ForkRefused: the system refuses a new process .*fork.*ulimit -u/, under(2, TRIAL))
    assert_match(/ForkRefused: .*refuses a new process \(can't create Thread/, under(3, TRIAL))
    assert_equal(1, under(6, TRIAL))
  end

  def test_a_trial_that_gets_no_thread
    assert_match(/ForkRefused: .*refuses a new process \(can't create Thread/, under(1, TRIAL))
  end

  # --- Where there is no limit

  Forking = Plait.const_get(:Forking)

  def test_only_rubys_own_sleep_is_interrupted
    gate = Thread::Queue.new
    hook = ->(&_child) { gate.pop && 7 }
    forker = Thread.new { Process.stub(:fork, hook) { Forking.call(patience: 0) } }
    wait_until { gate.num_waiting == 1 }
    sleep(Forking::LOOK * 5)
    gate << true

    assert_equal(7, forker.value)
  end

  def test_what_fork_raises_itself
    Process.stub(:fork, -> { raise Errno::ENOMEM }) { assert_raises(Errno::ENOMEM) { assert_no_leaks { Forking.call } } }
  end
end
