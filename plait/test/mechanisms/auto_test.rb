# frozen_string_literal: true

require "test_helper"
require "plait/mechanisms/auto"
require "plait/mechanisms/processes"
require "support/ractors"

# What `on: :auto` promises beside the contract of all mechanisms: plait/test/contracts/auto_test.rb.
class AutoTest < Minitest::Test
  KINDS = [nil, %i[sequence], %i[threads], %i[fibers], %i[hybrid], %i[sequence fibers]].freeze

  def teardown = Thread.current.instance_variable_set(:@plait_decision, nil)

  def map(items, **options, &block) = Plait.map(items, on: :auto, **options, &block)

  def burn(seconds)
    limit = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + seconds
    nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < limit
    true
  end

  # @param check [#call] gets the method of each object, and returns what is called
  def replaced(kind, name, check)
    original = kind.instance_method(name)
    kind.remove_method(name)
    kind.define_method(name) { |**options, &block| check.call(original.bind(self)).call(**options, &block) }
    yield
  ensure
    kind.remove_method(name)
    kind.define_method(name, original)
  end

  def in_flight(outcomes)
    events = outcomes.flat_map { |outcome| [[outcome.started_at, 1], [outcome.finished_at, -1]] }
    events.sort.reduce([0, 0]) { |(now, top), (_, step)| [now + step, [top, now + step].max] }.last
  end

  # A machine that stands still for a second makes one way look as good as another.
  def test_items_that_wait_overlap
    tries = 3.times.lazy.map do
      outcomes = map([0.02] * 60, limit: 8, on_error: :collect) { |seconds| sleep(seconds) }
      in_flight(outcomes).tap { |most| assert_operator(most, :<=, 8) }
    end
    assert(tries.any? { |most| most >= 3 && Plait.last_decision.on != :sequence }, "they never overlapped")
  end

  def test_each_body_runs_once_whatever_the_work_is_and_changes_to
    KINDS.each do |among|
      runs = Thread::Queue.new
      assert_no_leaks { assert_equal((0...900).to_a, map(0...900, among: among, limit: 16) { |n| (runs << n) && work(n) }) }
      assert_equal((0...900).to_a, Array.new(runs.size) { runs.pop }.sort, among.inspect)
    end
  end

  def work(number)
    case number / 100
    when 1, 4 then sleep(0.002)
    when 2 then burn(0.0005)
    when 3 then Thread.pass
    end
    number
  end

  def test_the_limit_holds_while_threads_hand_over_to_fibers
    items = [0.0, 0.001, 0.004] * 300
    outcomes = map(items, limit: 8, on_error: :collect, among: %i[sequence fibers]) { |seconds| sleep(seconds) }
    assert_operator(in_flight(outcomes), :<=, 8)
    assert_equal(items.size, outcomes.count(&:ok?))
  end

  def test_an_item_that_ends_the_thread_of_the_loop_ends_the_run
    assert_no_grace do
      assert_no_leaks do
        assert_raises(Plait::WorkerDied) do
          map(1..50, among: %i[fibers], limit: 8) { |n| sleep(0.01) && n == 20 && (@failed_at = Plait::Deadline.now) && Thread.exit }
        end
      end
    end
  end

  # The loop has some of them in hand.
  def test_the_end_of_a_run_does_not_wait_for_items_that_have_not_begun
    assert_no_grace do
      assert_raises(KeyError) do
        map(0...5_000, among: %i[fibers], limit: 64) do |n|
          sleep(0.002)
          (@failed_at = Plait::Deadline.now) && raise(KeyError) if n == 1_500
        end
      end
    end
  end

  # A machine that stands still for seconds fails one try.
  # @yield a run that fails, and notes when
  def assert_no_grace
    took = Array.new(3) do
      yield
      Plait::Deadline.now - @failed_at
    end
    assert_operator(took.min, :<, 1, "the run waited for its grace of two seconds")
  end

  def test_an_error_in_a_sample_is_its_items_own
    error = assert_raises(KeyError) { map(%w[a b]) { |item| raise KeyError, "no #{item}" } }
    assert_equal([0, "a"], [error.index, error.item])
    outcomes = map([1, 2, 3], on_error: :collect) { |item| item == 1 ? raise("first") : item }
    assert_equal([nil, 2, 3], outcomes.map(&:value))
  end

  def test_an_item_that_ends_its_thread_is_the_only_one_that_fails
    runs = Thread::Queue.new
    assert_no_leaks do
      outcomes = map(0...300, on_error: :collect) do |n|
        runs << n
        Thread.exit if n == 150
        n
      end
      assert_equal([150], outcomes.reject(&:ok?).map(&:index))
      assert_instance_of(Plait::WorkerDied, outcomes[150].error)
      assert_match(/ran item 150 /, outcomes[150].error.message)
    end
    assert_equal(300, runs.size)
  end

  def test_an_item_that_ends_its_thread_runs_again_with_retries
    runs = Thread::Queue.new
    values = map(0...300, retries: { count: 1, base: 0.001 }) do |n|
      runs << n if n == 150
      Thread.exit if n == 150 && runs.size == 1
      n
    end
    assert_equal([(0...300).to_a, 2], [values, runs.size])
  end

  def test_an_exception_from_outside_ends_a_run_at_any_moment
    KINDS.each do |among|
      [0.001, 0.01, 0.06].each do |delay|
        assert_no_leaks { ended_after(delay) { map(1.step, among: among) { |n| sleep(n % 2 * 0.001) } } }
      end
    end
  end

  def ended_after(delay, &block)
    started = Thread::Queue.new
    thread = Thread.new { assert_raises(IOError) { (started << true) && block.call } }
    thread.report_on_exception = false
    started.pop
    sleep(delay)
    thread.raise(IOError, "enough")
    thread.value
  end

  def test_a_kill_ends_a_run
    assert_no_leaks do
      started = Thread::Queue.new
      thread = Thread.new { map([30] * 5) { |seconds| (started << true) && sleep(seconds) } }
      started.pop
      thread.kill.join
    end
  end

  def test_a_timeout_around_the_whole
    assert_no_leaks do
      assert_raises(Plait::TimeoutError) { Plait.timeout(0.1) { map(1.step) { |n| sleep(n * 0.0001) } } }
    end
  end

  def test_runs_inside_of_runs
    assert_no_leaks do
      assert_equal([[2, 4]] * 20, map([2] * 20) { |n| map([1, 2]) { |m| sleep(0.001) && (n * m) } })
      assert_equal([[1, 2]] * 3, Plait.map([1] * 3, on: :fibers) { map([1, 2]) { |m| sleep(0.001) && m } })
      values = Plait.run(on: :fibers) { |scope| Array.new(3) { scope.async { map([1, 2], &:succ) } }.map(&:value) }
      assert_equal([[2, 3]] * 3, values)
    end
  end

  def test_others_in_the_callers_loop_go_on
    steps = 0
    Plait.run(on: :fibers) do |scope|
      scope.async { loop { sleep(0.001) && (steps += 1) } }.tap do |ticking|
        scope.async { map([60] * 3) { |most| wait_until(timeout: most) { steps > 3 } } }.value
        ticking.cancel
      end
    end
    assert_operator(steps, :>, 3)
  end

  def test_a_source_that_waits_does_not_hold_up_its_items
    done = Thread::Queue.new
    source = Enumerator.new do |items|
      items << 1
      items << 2
      2.times { done.pop } # both are over before there is a third
      items << 3
    end
    assert_equal([1, 2, 3], map(source) { |n| (done << n) && n })
  end

  def test_processes_only_where_they_are_named
    assert_equal([Process.pid], map([1, 2]) { Process.pid }.uniq)
    assert_no_leaks do
      pids = map([1, 2, 3], among: :processes) { Process.pid }
      refute_includes(pids, Process.pid)
      assert_equal(:processes, Plait.last_decision.on)
      assert_equal((0...400).to_a, map(0...400, among: %i[sequence processes]) { |n| burn(0.001) && n })
    end
  end

  def test_as_many_processes_as_gain
    seen = []
    assert_no_leaks do
      Timeout.timeout(60) do
        Plait.each_result(0.step, on: :auto, among: :processes, limit: 16) { |n| sleep(0.01) && n }.each do |outcome|
          assert_equal(outcome.index, outcome.value)
          seen << outcome.value
          break if Plait.last_decision.limit == 16
        end
      end
    end
    assert_equal(seen.uniq, seen)
  end

  def test_processes_that_the_system_refuses
    started = 0
    refusing = lambda do |start|
      (started += 1) > 4 ? raise(Plait::UnsupportedError, "no more") : start
    end
    assert_no_leaks do
      replaced(Plait::Mechanisms.const_get(:Processes)::ChildProcess, :start, refusing) do
        assert_equal((0...300).to_a, map(0...300, among: :processes, limit: 16) { |n| sleep(0.01) && n })
      end
    end
    assert_operator(started, :>, 4)
  end

  def test_an_item_that_no_ractor_gets_is_an_outcome
    Support::Ractors.needed
    items = [*(2..9), Thread.current, 1, *(2..9)]
    outcomes = map(items, among: [:ractors], on_error: :collect) { |item| item == 1 ? Thread.exit : item }
    assert_equal([8, 9], outcomes.each_index.reject { |index| outcomes[index].ok? })
  end

  def test_ractors_that_are_ended_twice
    Support::Ractors.needed
    attempt = Plait.const_get(:Attempt).new(:succ.to_proc, Plait::Mechanisms::Options.new)
    pool = Plait::Mechanisms.find(:ractors).executor(attempt, limit: 1)
    2.times { pool.close }
    refute_predicate(pool, :ready?)
  end

  def test_an_interrupt_as_one_kind_ends_leaves_none_of_the_others
    ended = []
    executors = [-> { raise(Interrupt) }, -> { ended << 1 }, -> { ended << 2 }]
    executors.each { |one| one.define_singleton_method(:close) { call } }
    assert_raises(Interrupt) { Plait::Mechanisms.const_get(:Auto)::Pool.allocate.send(:close_all, executors) }
    assert_equal([1, 2], ended)
  end

  # Its worker is one of a level that is over by then.
  def test_an_item_that_ends_its_thread_is_tried_again_at_a_later_level
    other = Thread::Queue.new
    tries = 0
    values = Timeout.timeout(60) do
      map([1, 2], among: %i[sequence fibers], retries: 2) do |n|
        n == 2 ? other << 2 : (tries += 1) == 1 && other.pop.then { Thread.exit }
        n
      end
    end
    assert_equal([[1, 2], 2], [values, tries])
  end

  def test_a_block_that_no_ractor_can_run
    Support::Ractors.needed
    outer = []
    assert_raises(Plait::UnshareableError) { map([1], among: [:ractors]) { |n| outer << n } }
  end

  # Where a queue has no time limit.
  def test_a_late_tick_is_no_message
    mailbox = Plait::Mechanisms.const_get(:Auto)::Mailbox.new({})
    mailbox.send(:start_ticker)
    mailbox << mailbox.class::TICK << 1 << mailbox.class::TICK
    mailbox.settle
    assert_equal([1], Array.new(mailbox.size) { mailbox.pop })
  end

  def test_what_it_can_choose_is_checked
    error = assert_raises(Plait::UsageError) { map([1], among: %i[threads magic]) { flunk } }
    assert_match(/\Aamong: names mechanisms .*:hybrid.* not \[:threads, :magic\]/, error.message)
    assert_raises(Plait::UsageError) { map([1], among: []) { flunk } }
    error = assert_raises(Plait::UsageError) { Plait.map([1], on: :threads, among: %i[fibers]) { flunk } }
    assert_equal("among: is for on: :auto, which chooses a mechanism", error.message)
  end

  def test_the_last_decision_is_of_this_thread
    map([1], among: :threads, limit: 1) { nil } # a busy machine may try a second worker
    decision = Plait.last_decision
    assert_equal([:threads, 1, 1, false], [decision.on, decision.limit, *decision.figures.values_at(:items, :settled)])
    assert_equal("threads, 1 at once: too few have finished to compare limits", decision.to_s)
    assert_nil(Thread.new { Plait.last_decision }.value)
  end

  def test_the_first_of_candidates_need_not_wait_for_one_that_hangs
    value = Plait.first([30, 0.01], on: :auto) { |seconds| sleep(seconds) && seconds }
    assert_in_delta(0.01, value)
  end
end
