# frozen_string_literal: true

require "test_helper"
require "support/scheduler_cases"
require "support/fresh_ruby"

# Plait.offload: a blocking call on a thread, while its fiber waits.
class OffloadTest < Minitest::Test
  include SchedulerCases

  Pool = Plait.const_get(:Offload)::Pool

  class Cancelled < Exception; end # rubocop:disable Lint/InheritException

  # --- There and back

  def test_values
    thing = Object.new
    assert_same(thing, in_fiber { Plait.offload { thing } })
    assert_nil(in_fiber { Plait.offload { nil } })
    refute(in_fiber { Plait.offload { false } })
  end

  def test_it_runs_on_another_thread
    here, there, scheduler = in_fiber { [Thread.current, *Plait.offload { [Thread.current, Fiber.current_scheduler] }] }
    refute_same(here, there)
    assert_nil(scheduler)
  end

  def test_exceptions
    [KeyError, NotImplementedError, SystemExit, Interrupt, NoMemoryError].each do |error|
      raised = assert_raises(error) { in_fiber { Plait.offload { raise error, "there" } } }
      assert_equal("there", raised.message)
      assert_includes(raised.backtrace.first, __FILE__)
    end
  end

  def test_a_throw_has_nobody_to_catch_it
    assert_raises(UncaughtThrowError) { in_fiber { catch(:out) { Plait.offload { throw(:out) } } } }
  end

  def test_the_loop_goes_on
    ticks = 0
    in_fiber do
      over = false
      Fiber.schedule { (ticks += 1).then { sleep(0.001) } until over }
      Plait.offload { wait_until { ticks > 5 } }
      over = true
    end
    assert_operator(ticks, :>, 5)
  end

  def test_outside_of_fibers_it_is_a_plain_call
    assert_no_leaks { assert_equal(Thread.current, Plait.offload { Thread.current }) }
    with_scheduler { assert_equal(Thread.current, Plait.offload { Thread.current }) }
    in_fiber { assert_equal(Thread.current, Fiber.new(blocking: true) { Plait.offload { Thread.current } }.resume) }
    assert_equal(1, catch(:out) { Plait.offload { throw(:out, 1) } })
  end

  def test_in_one_another
    assert_no_leaks do
      threads = in_fiber { Plait.offload { Plait.offload { Thread.current }.then { |inner| [inner, Thread.current] } } }
      assert_same(*threads)
    end
  end

  # Each job of a pool of one holds its only thread; what is inside of it must not wait for that.
  def test_a_loop_inside_of_a_job
    value = in_fiber do |scheduler|
      small_pool(scheduler, 1)
      Plait.offload { in_fiber { Plait.offload { 1 } } + Plait.map([1], on: :fibers) { |n| Plait.offload { n } }.first }
    end
    assert_equal(2, value)
  end

  # --- Ended from outside

  def test_a_timeout_ends_the_block
    events = Queue.new
    assert_no_leaks do
      assert_raises(Plait::TimeoutError) do
        in_fiber { Plait.timeout(2) { Plait.offload { noted(events) { sleep } } } }
      end
    end
    assert_equal([:ended], drain(events))
  end

  def test_so_does_a_cancellation
    events = Queue.new
    assert_no_leaks do
      with_scheduler do |scheduler|
        fiber = Fiber.schedule do
          Plait.offload { noted(events, :begun) { sleep } }
        rescue Cancelled
          events << :cancelled
        end
        Fiber.schedule { wait_until { !events.empty? }.then { scheduler.interrupt(fiber, Cancelled) } }
      end
    end
    assert_equal(%i[begun ended cancelled], drain(events))
  end

  def test_a_scope_that_fails_ends_the_block
    events = Queue.new
    assert_no_leaks do
      assert_raises(KeyError) do
        Plait.run(on: :fibers) do |scope|
          scope.async { Plait.offload { noted(events, :begun) { sleep } } }
          scope.async { wait_until { !events.empty? }.then { raise KeyError } }
        end
      end
    end
    assert_equal(%i[begun ended], drain(events))
  end

  def test_a_rescue_of_the_block_does_not_swallow_it
    assert_no_leaks do
      assert_raises(Plait::TimeoutError) do
        in_fiber { Plait.timeout(0.05) { Plait.offload { sleep rescue :swallowed } } } # rubocop:disable Style/RescueModifier
      end
    end
  end

  # As a call in C that takes no interruption: it ends when what it waits for is closed.
  def test_what_interruptions_do_not_reach_is_stopped
    waited_for = Queue.new
    assert_no_leaks do
      assert_raises(Plait::TimeoutError) do
        in_fiber { Plait.timeout(2) { Plait.offload(stop: -> { waited_for.close }) { wait_deafly(waited_for) } } }
      end
    end
    assert_predicate(waited_for, :closed?)
  end

  def test_a_stop_that_fails_hides_nothing
    events = Queue.new
    seen = nil
    with_scheduler do |scheduler|
      fiber = Fiber.schedule do
        Plait.offload(stop: -> { raise IOError }) { noted(events, :begun) { sleep } }
      rescue Cancelled, IOError => e
        seen = [e.class, *drain(events)]
      end
      Fiber.schedule { wait_until { !events.empty? }.then { scheduler.interrupt(fiber, Cancelled) } }
    end
    assert_equal([Cancelled, :begun, :ended], seen)
  end

  def test_what_ends_by_itself_is_not_stopped
    in_fiber { assert_equal(1, Plait.offload(stop: -> { flunk }) { 1 }) }
    assert_equal(1, Plait.offload(stop: -> { flunk }) { 1 })
  end

  def wait_deafly(queue) = Thread.handle_interrupt(Object => :never) { Thread.new { queue.pop }.join }

  # Computing in Ruby is interrupted as well as waiting.
  def test_a_block_that_computes
    assert_no_leaks { assert_raises(Plait::TimeoutError) { in_fiber { Plait.timeout(0.05) { Plait.offload { loop { 1 } } } } } }
  end

  def test_what_is_not_begun_is_never_run
    ran = []
    release = Queue.new
    with_scheduler do |scheduler|
      small_pool(scheduler, 1)
      Fiber.schedule { Plait.offload { release.pop } }
      second = Fiber.schedule do
        Plait.offload { ran << :second }
      rescue Cancelled
        ran << :cancelled
        release << 1
      end
      Fiber.schedule { scheduler.interrupt(second, Cancelled) }
    end
    assert_equal([:cancelled], ran)
  end

  # After its grace; the pool has another thread for what comes next.
  def test_a_block_that_will_not_end_is_killed
    with_grace(0.05) do
      assert_no_leaks do
        value = in_fiber do |scheduler|
          small_pool(scheduler, 1)
          assert_raises(Plait::TimeoutError) { Plait.timeout(0.05) { Plait.offload { stubborn } } }
          Plait.offload { :next }
        end
        assert_equal(:next, value)
      end
    end
  end

  # An interruption that comes just as a block ends is its own, not the next one's.
  def test_a_late_interruption_hits_nobody_else
    values = []
    with_scheduler do |scheduler|
      small_pool(scheduler, 1)
      Fiber.schedule do
        200.times do |number|
          Plait.timeout(0.001) { Plait.offload { sleep(0.001) } }
        rescue Plait::TimeoutError
          nil
        ensure
          values << Plait.offload { sleep(0).then { number } }
        end
      end
    end
    assert_equal((0...200).to_a, values)
  end

  # Ruby 3.1 crashes when it is asked for the class of what is pending: see Pool#work.
  def test_one_that_comes_after_its_block
    pool = Plait.const_get(:Offload)::Pool.new(size: 1)
    late = Object.new
    def late.run = Thread.current.raise(Plait::Mechanisms::Interruption.new)
    1_000.times { pool.send(:enqueue, late) }
    assert_equal(:next, pool.call { :next })
  ensure
    pool.close
  end

  # As what limits the time of a request raises into the thread that ran it.
  def test_exceptions_for_a_block_that_is_over_hit_nobody_else
    pool = Pool.new(size: 1, idle: 60)
    thread = pool.call { Thread.current }
    hostile = Thread.new { loop { sleep(0.0005).then { thread.raise(Cancelled) } } }
    values = Array.new(300) { |number| value_of(pool) { number } }
    hostile.kill.join
    assert_operator(values.compact.size, :>, 0)
    assert_same(thread, wait_until { value_of(pool) { Thread.current } })
  ensure
    pool.close
  end

  def test_exceptions_for_an_idle_thread_hit_no_job
    pool = Pool.new(size: 1, idle: 60)
    thread = pool.call { Thread.current }
    10.times do |number|
      wait_until { thread.stop? }
      3.times { thread.raise(Cancelled) }
      assert_equal([number, thread], pool.call { [number, Thread.current] })
    end
  ensure
    pool.close
  end

  def test_a_second_interruption_waits_for_the_end_too
    events = Queue.new
    release = Queue.new
    with_scheduler do |scheduler|
      fiber = Fiber.schedule do
        Plait.offload { noted(events, :begun, release) { sleep } }
      rescue Cancelled
        events << :cancelled
      end
      Fiber.schedule do
        wait_until { !events.empty? }
        2.times { scheduler.interrupt(fiber, Cancelled).then { sleep(0.005) } }
        release << 1
      end
    end
    assert_equal(%i[begun ended cancelled], drain(events))
  end

  def test_a_block_that_ends_its_own_thread
    [-> { Thread.exit }, -> { Thread.current.kill.then { sleep } }].each do |ending|
      assert_no_leaks do
        in_fiber do |scheduler|
          small_pool(scheduler, 1)
          assert_raises(Plait::WorkerDied) { Plait.timeout(20) { Plait.offload(&ending) } }
          assert_equal(:next, Plait.timeout(20) { Plait.offload { :next } })
        end
      end
    end
  end

  def test_what_waits_behind_a_thread_that_is_killed_has_another
    seen = []
    with_scheduler do |scheduler|
      small_pool(scheduler, 1)
      release = Queue.new
      Fiber.schedule { assert_raises(Plait::WorkerDied) { Plait.offload { release.pop.then { Thread.exit } } } }
      3.times { |n| Fiber.schedule { seen << Plait.timeout(20) { Plait.offload { n } } } }
      Fiber.schedule { release << 1 }
    end
    assert_equal([0, 1, 2], seen)
  end

  # --- The pool

  def test_never_more_threads_than_its_size
    threads = Queue.new
    peak = 0
    with_scheduler do |scheduler|
      pool = small_pool(scheduler, 3)
      under_way = 0
      lock = Mutex.new
      assert_equal(3, pool.size)
      20.times do
        Fiber.schedule do
          Plait.offload do
            lock.synchronize { peak = [peak, under_way += 1].max }
            threads << Thread.current
            wait_until { threads.size >= 3 }.then { sleep(0.005) }
            lock.synchronize { under_way -= 1 }
          end
        end
      end
    end
    assert_equal([20, 3, 3], [threads.size, drain(threads).uniq.size, peak])
  end

  def test_as_many_threads_as_jobs_at_once
    count = Pool::DEFAULT_SIZE
    arrived = Queue.new
    with_scheduler do
      count.times { Fiber.schedule { Plait.offload { (arrived << 1).then { wait_until { arrived.size == count } } } } }
    end
    assert_equal(count, arrived.size)
  end

  def test_idle_threads_leave
    pool = Pool.new(size: 2, idle: 0.02)
    thread = pool.call { Thread.current }
    wait_until(what: "the end of the idle thread") { !thread.alive? }
    assert_equal(1, pool.call { 1 })
  ensure
    pool.close
  end

  def test_a_pool_that_is_closed_refuses
    pool = Pool.new(size: 1)
    refute_predicate(pool, :stale?)
    pool.close
    assert_predicate(pool, :stale?)
    assert_match(/its event loop has ended/, assert_raises(Plait::OffloadRefused) { pool.call { flunk } }.message)
    pool.close
  end

  # The system may have no further thread, or none at all.
  def test_without_further_threads
    pool = Pool.new(size: 4, idle: 60)
    first = pool.call { Thread.current }
    without_threads(pool) do
      threads = in_fiber { Plait.map(1..3, on: :fibers) { pool.call { sleep(0.001).then { Thread.current } } } }
      assert_equal([first], threads.uniq)
    end
    none = Pool.new
    ran = false
    without_threads(none) { assert_raises(Plait::UnsupportedError) { none.call { ran = true } } }
    assert_equal(1, none.call { 1 })
    refute(ran)
  ensure
    [pool, none].compact.each(&:close)
  end

  def test_closing_waits_for_what_is_under_way_and_queued
    done = Queue.new
    pool = Pool.new(size: 1)
    callers = Array.new(3) { |n| Thread.new { pool.call { sleep(0.01).then { done << n } } } }
    wait_until { callers.all?(&:stop?) }
    pool.close
    callers.each(&:join)
    assert_equal([0, 1, 2], drain(done).sort)
  end

  # Also for a thread that is at a job, and outlives its caller.
  def test_closing_joins_the_threads
    pool = Pool.new(size: 2)
    begun = Queue.new
    release = Queue.new
    thread = nil
    caller = Thread.new { pool.call { (thread = Thread.current) && (begun << 1) && release.pop } }
    begun.pop
    closing = Thread.new { pool.close.then { thread.alive? } }
    wait_until { pool.stale? && closing.stop? }
    assert_predicate(closing, :alive?, "it does not wait for the thread")
    release << 1
    refute(closing.value, "the thread outlives the pool")
    caller.join
  end

  def test_while_the_loop_is_closing
    values = []
    assert_no_leaks do
      with_scheduler do |scheduler|
        Fiber.schedule do
          sleep(0.005)
          values << Plait.offload { 1 }
          Fiber.schedule { values << Plait.offload { 2 } }
        end
        scheduler.close
      end
    end
    assert_equal([1, 2], values)
  end

  def test_no_thread_is_left
    assert_no_leaks do
      3.times { with_scheduler { 10.times { Fiber.schedule { Plait.offload { sleep(0.001) } } } } }
      Plait.map(1..20, on: :fibers) { Plait.offload { sleep(0.001) } }
    end
  end

  # --- Elsewhere

  def test_after_a_fork
    read, write = IO.pipe
    in_fiber do
      Plait.offload { 1 }
      pid = fork do
        write.syswrite([Plait.offload { 2 }, in_fiber { Plait.offload { 3 } }].inspect)
        exit!(0)
      end
      assert_predicate(Process.wait2(pid).last, :success?)
    end
    write.close
    assert_equal("[2, 3]", read.read)
  ensure
    [read, write].each(&:close)
  end

  def test_a_pool_of_the_parent_is_stale_in_the_child
    pool = Pool.new
    pool.call { 1 }
    pid = fork { exit!(pool.stale? ? 0 : 1) }
    assert_predicate(Process.wait2(pid).last, :success?)
    refute_predicate(pool, :stale?)
  ensure
    pool.close
  end

  # Which goes on with the loop, and without all other threads.
  def test_a_daemon
    result = Support::FreshRuby.run(<<~RUBY)
      require "plait"
      Fiber.set_scheduler(Plait::Scheduler.new)
      Fiber.schedule do
        Plait.offload { 1 }
        Process.daemon(true, true)
        $stdout.syswrite(Plait.timeout(60) { Plait.offload { "2" } })
      ensure
        exit!(0)
      end
    RUBY
    assert_equal(["2", ""], [result.out, result.err])
  end

  def test_asyncs_scheduler
    result = Support::FreshRuby.run(<<~RUBY, flags: ["-W0"])
      begin
        require "async"
      rescue LoadError
        exit(77)
      end
      require "plait"
      require "support/waiting"
      require "timeout"
      Async do |task|
        ticks = 0
        ticker = task.async { loop { sleep(0.001) && ticks += 1 } }
        puts Plait.offload { Support::Waiting.wait_until { ticks > 2 } && Thread.current != Thread.main }
        begin
          Plait.offload { raise KeyError, "there" }
        rescue KeyError => e
          puts e.message
        end
        ended = Queue.new
        begin
          task.with_timeout(2) { Plait.offload { begin; sleep; ensure; ended << :ended; end } }
        rescue Async::TimeoutError
          puts ended.pop(true)
        end
        begun = false
        child = task.async { Plait.offload { begin; (begun = true) && sleep; ensure; ended << :stopped; end } }
        sleep(0.001) until begun
        child.stop
        child.wait
        puts ended.pop(true)
        # On a thread of its own: a child that is forked in a task still has that task, but from Async 2.35 on no loop for it.
        pid = fork { exit!(Thread.new { Async { Plait.offload { 5 } }.wait }.value == 5) }
        puts Process.wait2(pid).last.success?
        ticker.stop
      end
    RUBY
    skip("async is not installed: bin/setup peers") if result.status.exitstatus == 77
    assert_equal([%w[true there ended stopped true], ""], [result.out.split, result.err])
  end

  private

  def small_pool(scheduler, size) = Pool.new(size: size).tap { |pool| scheduler.instance_variable_set(:@offload_pool, pool) }

  # What the pool knows as Thread then refuses as the system does.
  def without_threads(pool)
    refusing = Class.new(Thread) { def self.new = raise(ThreadError, "can't create Thread: Resource temporarily unavailable") }
    pool.class.const_set(:Thread, refusing)
    yield
  ensure
    pool.class.send(:remove_const, :Thread)
  end

  def noted(events, begun = nil, release = nil)
    events << begun if begun
    yield
  ensure
    release&.pop
    events << :ended
  end

  def drain(queue) = Array.new(queue.size) { queue.pop }

  # @return [Object, nil] nil: it was cancelled
  def value_of(pool, &block)
    pool.call(&block)
  rescue Cancelled
    nil
  end

  # Not to be interrupted, only killed.
  def stubborn
    Thread.handle_interrupt(Plait::Mechanisms::Interruption => :never) { sleep }
  end

  def with_grace(seconds)
    job = Plait.const_get(:Offload)::Job
    was = job::GRACE
    job.send(:remove_const, :GRACE)
    job.const_set(:GRACE, seconds)
    yield
  ensure
    job.send(:remove_const, :GRACE)
    job.const_set(:GRACE, was)
  end
end
