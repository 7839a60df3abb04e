# frozen_string_literal: true

require "test_helper"
require "support/scheduler_cases"
require "support/fresh_ruby"
require "timeout"

# Threads, locks, fibers in fibers and forks: what Ruby gets wrong under a scheduler, and is mended.
class CompatWaitsTest < Minitest::Test
  include SchedulerCases

  class Cancelled < StandardError; end

  # --- Thread#join

  def test_a_join_that_times_out
    forever = Thread.new { sleep }
    in_fiber { [0, 0.001, 1r / 1000].each { |limit| assert_nil(forever.join(limit)) } }
  ensure
    forever.kill.join
  end

  def test_a_join_for_what_is_no_time
    forever = Thread.new { sleep }
    odd = ["1", Object.new]
    odd += [Complex(0, 1), Time.now] if RUBY_VERSION < "3.3" # from there on it is Ruby's own, which takes a Time for seconds
    in_fiber { odd.each { |one| assert_raises(TypeError) { forever.join(one) } } }
  ensure
    forever.kill.join
  end

  def test_a_join_within_its_time
    in_fiber do
      assert_instance_of(Thread, Thread.new { sleep(0.001) }.join(30))
      ended = Thread.new { nil }.tap(&:join)
      assert_same(ended, ended.join(0))
      assert_same(ended, ended.join(nil))
    end
  end

  def test_the_error_of_a_thread_that_is_joined
    failing = Thread.new { sleep(0.001).then { raise(Cancelled) } }
    failing.report_on_exception = false
    in_fiber { assert_raises(Cancelled) { failing.join(30) } }
  end

  # The time of somebody else, around it.
  def test_a_timeout_around_a_join
    forever = Thread.new { sleep }
    in_fiber { assert_raises(Timeout::Error) { Timeout.timeout(0.001) { forever.join(30) } } }
  ensure
    forever.kill.join
  end

  # --- Mutex#sleep and ConditionVariable

  def test_an_interrupted_wait_for_a_condition_leaves_with_the_mutex
    in_fiber do |scheduler|
      mutex = Mutex.new
      error = owned = nil
      fiber = Fiber.schedule do
        mutex.synchronize do
          ConditionVariable.new.wait(mutex)
        ensure
          owned = mutex.owned?
        end
      rescue StandardError => e
        error = e
      end
      scheduler.interrupt(fiber, Cancelled)
      sleep(0.001) while fiber.alive?
      assert_equal([Cancelled, true, false], [error.class, owned, mutex.locked?])
    end
  end

  def test_an_interrupted_sleep_of_a_mutex
    in_fiber do |scheduler|
      mutex = Mutex.new
      error = nil
      fiber = Fiber.schedule do
        mutex.synchronize { mutex.sleep }
      rescue StandardError => e
        error = e
      end
      scheduler.interrupt(fiber, Cancelled)
      sleep(0.001) while fiber.alive?
      assert_equal([Cancelled, false], [error.class, mutex.locked?])
    end
  end

  def test_the_mutex_is_free_meanwhile
    in_fiber do
      mutex = Mutex.new
      order = []
      fiber = Fiber.schedule { mutex.synchronize { order << :asleep << mutex.sleep(0.01).class << mutex.owned? } }
      mutex.synchronize { order << :mine }
      sleep(0.001) while fiber.alive?
      assert_equal([:asleep, :mine, true], order.values_at(0, 1, -1))
    end
  end

  # It was chosen, and then leaves by an exception: it is for the other.
  def test_a_signal_is_passed_on_by_who_leaves
    begun = SchedulerCases.now
    woken = {}
    with_scheduler do |scheduler|
      mutex = Mutex.new
      changed = ConditionVariable.new
      wait = lambda do |index|
        mutex.synchronize { changed.wait(mutex, 60) }.then { woken[index] = SchedulerCases.now - begun }
      rescue Cancelled
        nil
      end
      first, = Array.new(2) { |index| Fiber.schedule { wait.call(index) } }
      Fiber.schedule { mutex.synchronize { changed.signal.then { interrupt_while_locked(scheduler, first) } } }
    end
    assert_equal([1], woken.keys)
    assert_operator(woken[1], :<, 40)
  end

  # --- Fibers in fibers

  def test_an_enumerator_waits_and_others_run
    order = []
    in_fiber do
      values = Enumerator.new { |y| wait_until { order.any? }.then { y << 1 }.then { y << 2 } }
      Fiber.schedule { sleep(0).then { order << :other } }
      order.push(values.peek, values.next, values.next)
      assert_raises(StopIteration) { values.next }
    end
    assert_equal([:other, 1, 1, 2], order)
  end

  # A copy would go on where the other is.
  def test_an_enumerator_that_was_begun_is_not_copied
    in_fiber do
      values = [1, 2, 3].each
      assert_equal([1, 1], [values.dup.next, values.next])
      assert_raises(TypeError) { values.dup }
      assert_raises(TypeError) { values.clone }
      values.rewind
      assert_equal(1, values.dup.next)
    end
  end

  # Who is raised into is the one that waits, not the one that has resumed it.
  def test_an_interrupt_reaches_the_innermost_fiber
    in_fiber do |scheduler|
      seen = []
      fiber = Fiber.schedule do
        inner = Fiber.new(blocking: false) do
          Fiber.new(blocking: false) { sleep }.resume
        rescue Cancelled
          seen << :inside
          raise
        end
        inner.resume
      rescue Cancelled
        seen << :outside
      end
      sleep(0)
      scheduler.interrupt(fiber, Cancelled)
      wait_until { !fiber.alive? }
      assert_equal(%i[inside outside], seen)
    end
  end

  # Once the inner one is done, the outer one waits for itself again.
  def test_an_interrupt_after_the_inner_fiber_is_done
    in_fiber do |scheduler|
      seen = nil
      fiber = Fiber.schedule do
        2.times { Fiber.new(blocking: false) { sleep(0) }.resume }
        sleep
      rescue Cancelled
        seen = :outside
      end
      sleep(0.001)
      scheduler.interrupt(fiber, Cancelled)
      wait_until { !fiber.alive? }
      assert_equal(:outside, seen)
    end
  end

  # --- IO#timeout

  def test_an_io_has_a_timeout
    reader, writer = IO.pipe
    assert_nil(reader.timeout)
    reader.timeout = 0.001
    assert_in_delta(0.001, reader.timeout)
    in_fiber { assert_raises(IO::TimeoutError) { reader.read(1) } }
    writer << "xy"
    in_fiber { assert_equal("x", reader.read(1)) }
    reader.timeout = nil
    in_fiber { assert_equal("y", reader.read(1)) }
    assert_operator(IO::TimeoutError, :<, IOError)
  ensure
    [reader, writer].each(&:close)
  end

  # --- fork

  def test_the_child_of_a_fork_has_none_of_its_parents_fibers
    result = Support::FreshRuby.run(<<~RUBY)
      require "plait/mechanisms/scheduler"
      $stdout.sync = true
      Fiber.set_scheduler(Plait::Scheduler.new)
      Fiber.schedule { sleep(0.05).then { $stdout.write("fiber in \#{Process.pid == PARENT ? :parent : :child}\n") } }
      PARENT = Process.pid
      Fiber.schedule do
        Process.wait(fork { $stdout.write("child: \#{Fiber.scheduler.inspect}\n").then { sleep(0.001) } })
        $stdout.write("parent: \#{Fiber.scheduler.class}, \#{$?.exitstatus}\n")
      end
    RUBY
    lines = result.out.lines(chomp: true)
    assert_equal([["child: nil", "fiber in parent", "parent: Plait::Scheduler, 0"], ""], [lines.sort, result.err])
  end

  # Of a library that was there before, and waits.
  def test_a_hook_in_the_child_finds_no_fibers
    result = Support::FreshRuby.run(<<~RUBY)
      hook = nil
      Process.singleton_class.prepend(Module.new { define_method(:_fork) { super().tap { |pid| hook.call if pid.zero? } } })
      require "plait"
      parent = Process.pid
      hook = -> { sleep(0.05) }
      Plait.map([1, 2, 3], on: :fibers) do |n|
        sleep(0.02 * n)
        Process.wait(fork { exit!(0) }) if n == 1
        $stdout.syswrite(Process.pid == parent ? n : "child")
      end
    RUBY
    assert_equal([%w[1 2 3], ""], [result.out.chars.sort, result.err])
  end

  # --- Priorities

  # The native part lends the thread a higher one at an unlock for which somebody waits.
  def test_a_new_thread_does_not_inherit_what_was_lent
    %i[new start fork].each do |name|
      in_fiber do
        unlock_for_another
        assert_equal(0, Thread.public_send(name) { Thread.current.priority }.value)
      end
    end
  end

  def test_what_was_lent_is_given_back
    in_fiber do
      unlock_for_another
      sleep(0.001)
      assert_equal(0, Thread.current.priority)
    end
  end

  def test_a_programs_own_priority_stays
    in_fiber do
      Thread.current.priority = -1
      2.times do
        unlock_for_another
        sleep(0.001)
      end
      assert_equal([-1, -1], [Thread.current.priority, Thread.new { Thread.current.priority }.value])
      unlock_for_another
      Thread.current.priority = 2
      sleep(0.001)
      assert_equal(2, Thread.current.priority)
    end
  end

  private

  # Before, it gets as far as to wait for the mutex; after, it is told.
  def interrupt_while_locked(scheduler, fiber)
    sleep(0.001)
    scheduler.interrupt(fiber, Cancelled)
    sleep(0.001)
  end

  def unlock_for_another
    mutex = Mutex.new
    mutex.lock
    Fiber.schedule { mutex.synchronize { nil } }
    mutex.unlock
  end
end
