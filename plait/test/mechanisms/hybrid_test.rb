# frozen_string_literal: true

require "test_helper"
require "plait/mechanisms/hybrid"
require "support/scheduler_cases"

# on: :hybrid: fibers, and a thread pool for items that block.
class HybridTest < Minitest::Test
  include SchedulerCases

  Detector = Plait::Mechanisms.const_get(:Hybrid)::BlockingDetector

  # Longer than what counts as blocking, also on a clock that is read late.
  BLOCK = Detector::BLOCKING * 3

  # --- The loop stays free

  def test_items_that_block_leave_the_loop_free
    best = (1..TRIES).lazy.map { stall_beside_blocking_items }.find { |stall| stall <= STALL }
    assert(best, "the loop was never free: a fiber beside the items was kept waiting for more than #{STALL} s each time")
  end

  def test_blocking_items_wait_together
    best = (1..TRIES).lazy.map { Support::RunQueue.seconds { Plait.map([ONE] * 10, on: :hybrid, limit: 10) { |s| block_for(s) } } }
                     .find { |seconds| seconds <= (Detector::ENOUGH * ONE) + TOGETHER }
    assert(best, "items that block never ran together")
  end

  def test_offloaded_parts_leave_the_loop_free
    ticks = 0
    Plait.run(on: :hybrid) do |scope|
      ticker = scope.async { loop { (ticks += 1).then { sleep(0.001) } } }
      scope.async { Plait.offload { wait_until { ticks > 5 } } }.value
      ticker.cancel
    end
    assert_operator(ticks, :>, 5)
  end

  # Ruby 3.4 and later offers such operations by itself. A cancelled fiber would leave while the pool still uses its stack.
  def test_a_blocking_operation_that_ruby_offers_stays_on_its_thread
    refute_respond_to(Plait::Scheduler.allocate, :blocking_operation_wait)
  end

  def test_an_item_that_ends_its_thread_on_the_pool
    here = Thread.current
    [[0, [1, 2, Plait::WorkerDied, 4]], [1, [1, 2, 3, 4]]].each do |retries, expected|
      died = false
      outcomes = Plait.map(1..4, on: :hybrid, limit: 1, on_error: :collect, retries: retries) do |n|
        block_for(BLOCK)
        (died = true) && Thread.exit if n == 3 && !died && !Thread.current.equal?(here)
        n
      end
      assert(died)
      assert_equal(expected, outcomes.map { |outcome| outcome.value || outcome.error.class })
    end
  end

  # --- What it senses

  def test_two_items_in_a_row_that_block_send_the_rest_to_the_pool
    here = Thread.current
    threads = Plait.map(1..6, on: :hybrid, limit: 1) { block_for(BLOCK) && Thread.current }
    assert_equal([true, true, false, false, false, false], threads.map { |thread| thread.equal?(here) })
  end

  def test_items_that_wait_stay_in_their_fibers
    here = Thread.current
    threads = Plait.map(1..6, on: :hybrid, limit: 1) { sleep(BLOCK) && Thread.current }
    assert_equal([here], threads.uniq)
  end

  # It cost the others time, but it does not block as a habit.
  def test_one_that_waits_in_between_begins_the_count_anew
    here = Thread.current
    threads = Plait.map([1, 0, 1, 0, 1, 1, 1], on: :hybrid, limit: 1) do |blocks|
      blocks == 1 ? block_for(BLOCK) : sleep(BLOCK)
      Thread.current
    end
    assert_equal(([true] * 6) + [false], threads.map { |thread| thread.equal?(here) })
  end

  def test_short_ones_do_not_count
    sense = Detector.new(->(*) { outcome(Detector::BLOCKING / 2) })
    in_fiber { 5.times { assert_same(Thread.current, thread_of(sense)) } }
    sense = Detector.new(->(*) { outcome(Detector::BLOCKING * 2) })
    in_fiber do
      2.times { assert_same(Thread.current, thread_of(sense)) }
      refute_same(Thread.current, thread_of(sense))
    end
  end

  def test_items_that_fail_after_they_blocked_count_too
    here = Thread.current
    outcomes = Plait.map(1..4, on: :hybrid, limit: 1, on_error: :collect) do
      block_for(BLOCK)
      raise KeyError, Thread.current.equal?(here).to_s
    end
    assert_equal(%w[true true false false], outcomes.map { |outcome| outcome.error.message })
  end

  def test_each_run_senses_anew
    2.times do
      here = Thread.current
      first = Plait.map(1..3, on: :hybrid, limit: 1) { block_for(BLOCK) && Thread.current }.first
      assert_same(here, first)
    end
  end

  # --- And back

  def test_items_that_wait_leave_the_pool_again
    here = Thread.current
    threads = with_patience(3) do
      without_collections do
        Plait.map(1..10, on: :hybrid, limit: 1) { |n| (n > 2 ? sleep(0.001) : block_for(BLOCK)) && Thread.current }
      end
    end
    assert_equal([true, true, false, false, false, true, true, true, true, true], threads.map { |thread| thread.equal?(here) })
  end

  # An item that collects garbage computes.
  def without_collections
    GC.start
    GC.disable
    yield
  ensure
    GC.enable
  end

  # One that a busy machine interrupts in the loop looks as if it blocked.
  def test_short_ones_too
    expected = [true, true, false, false, false, true, true]
    tries = 4.times.lazy.map { places_of_short_items }
    assert_includes(tries, expected)
  end

  # @return [Array<Boolean>] for each item, whether it ran in the loop
  def places_of_short_items
    here = Thread.current
    with_patience(3) do
      Plait.map(1..7, on: :hybrid, limit: 1) { |n| (n > 2 || block_for(BLOCK)) && Thread.current.equal?(here) }
    end
  end

  # It looks as if it could wait in its fiber, and does not.
  def test_one_that_holds_the_loop_is_the_last_for_long
    here = Thread.current
    threads = with_patience(1) do
      without_collections { Plait.map(1..10, on: :hybrid, limit: 1) { block_for(BLOCK) && Thread.current } }
    end
    assert_equal([true, true, false, true, false, false, false, false, true, false], threads.map { |thread| thread.equal?(here) })
  end

  def test_items_that_compute_stay_on_the_pool
    here = Thread.current
    threads = with_patience(1) { Plait.map(1..8, on: :hybrid, limit: 1) { compute_for(BLOCK) && Thread.current } }
    assert_equal(([true] * 2) + ([false] * 6), threads.map { |thread| thread.equal?(here) })
  end

  def test_two_that_block_first_do_not_bound_the_rest_by_the_pool
    under_way = peak = 0
    lock = Mutex.new
    Plait.map(1..200, on: :hybrid, limit: 200) do |n|
      next block_for(BLOCK) if n <= 2

      lock.synchronize { peak = [peak, under_way += 1].max }
      sleep(ONE)
      lock.synchronize { under_way -= 1 }
    end
    assert_operator(peak, :>, Plait.const_get(:Offload)::Pool::DEFAULT_SIZE * Detector::AHEAD)
  end

  def test_those_that_wait_for_a_place_on_the_pool_are_cancelled_too
    begun = Queue.new
    assert_no_leaks(fibers: true) do
      assert_raises(IOError) do
        Plait.map(1..100, on: :hybrid, limit: 100) do |n|
          next block_for(BLOCK) if n <= 2

          begun << n
          sleep if n > 3
          wait_until { begun.size >= Plait.const_get(:Offload)::Pool::DEFAULT_SIZE }
          raise IOError
        end
      end
    end
    assert_operator(begun.size, :<, 98)
  end

  # --- In the pool everything is as in the fibers

  def test_order_and_limit
    peak = under_way = 0
    lock = Mutex.new
    values = on_the_pool((0...12).to_a, limit: 3) do |item|
      lock.synchronize { peak = [peak, under_way += 1].max }
      block_for(0.005)
      lock.synchronize { under_way -= 1 }
      item
    end
    assert_equal((0...12).to_a, values)
    assert_includes(2..3, peak)
  end

  def test_errors
    error = assert_raises(KeyError) { on_the_pool([1, 2]) { |item| item == 2 ? raise(KeyError, "no") : item } }
    assert_equal(["no (item 4: 2)", 2], [error.message, error.item])
    assert_raises(SystemExit) { on_the_pool([1], on_error: :collect) { exit(3) } }
  end

  def test_a_timeout_of_an_item
    ended = Queue.new
    outcome = on_the_pool([1], timeout: 0.3, on_error: :collect) { ensuring(ended) { sleep } }.last
    assert_instance_of(Plait::TimeoutError, outcome.error)
    assert_equal(1, ended.size)
  end

  def test_the_deadline
    ended = Queue.new
    assert_no_leaks do
      assert_raises(Plait::DeadlineExceeded) { on_the_pool([1] * 4, deadline: 3) { ensuring(ended) { sleep } } }
    end
    assert_operator(ended.size, :>=, 1)
  end

  def test_retries
    tries = Queue.new
    values = on_the_pool([:done], retries: { count: 2, base: 0.001 }) { |item| (tries << 1).size < 3 ? raise("not yet") : item }
    assert_equal([:done, 3], [values.last, tries.size])
  end

  def test_a_failure_cancels_what_is_in_the_pool
    begun = Queue.new
    ended = Queue.new
    assert_no_leaks do
      assert_raises(IOError) do
        on_the_pool([1, 2, 3], limit: 3) do |item|
          begun << item
          next ensuring(ended) { sleep } if item < 3

          wait_until { begun.size == 3 }
          raise IOError
        end
      end
    end
    assert_equal(2, ended.size)
  end

  def test_leaving_early_cancels_what_is_in_the_pool
    ended = Queue.new
    assert_no_leaks do
      seen = 0
      Plait.each_result([0, 0, 1, 2, 2], on: :hybrid, limit: 3) do |item|
        item.zero? ? block_for(BLOCK) : ensuring(ended) { sleep if item == 2 }
        item
      end.each { |outcome| (seen += 1) && outcome.value == 1 && break }
      assert_equal(3, seen)
    end
    assert_includes(1..3, ended.size)
  end

  # The pool is the loop's, also where that is somebody else's fiber.
  def test_inside_of_a_fiber
    threads = nil
    assert_no_leaks do
      in_fiber { threads = Plait.map(1..4, on: :hybrid, limit: 1) { block_for(BLOCK) && Thread.current } }
    end
    assert_equal([true, true, false, false], threads.map { |thread| thread.equal?(threads.first) })
  end

  private

  # No hook sees it. Neither has it the GVL all the time.
  def block_for(seconds)
    Fiber.new(blocking: true) { sleep(seconds) }.resume
    true
  end

  # Of processor time.
  def compute_for(seconds)
    clock = Process::CLOCK_THREAD_CPUTIME_ID
    limit = Process.clock_gettime(clock) + seconds
    nil until Process.clock_gettime(clock) > limit
    true
  end

  def with_patience(items, &block) = with_constant(Detector, :PATIENCE, items, &block)

  # Runs items that block first, so that those given meet the pool. They have the numbers from 3 on.
  def on_the_pool(items, limit: 2, **options)
    here = Thread.current
    values = Plait.map(([:block] * 3) + items, on: :hybrid, limit: limit, **options) do |item|
      next block_for(BLOCK) if item == :block

      refute_same(here, Thread.current)
      yield item
    end
    values.drop(3)
  end

  def ensuring(ended)
    yield
  ensure
    ended << 1
  end

  # The first two items block the loop, as they must; what is measured begins with the third.
  # @return [Float] seconds that a fiber beside the others was kept waiting, at worst, and not by the machine
  def stall_beside_blocking_items
    longest = 0
    _, kept = Support::RunQueue.measure { longest = longest_gap }
    longest - kept
  end

  def longest_gap
    measuring = false
    gaps = []
    Plait.run(on: :hybrid) do |scope|
      ticker = scope.async { tick { |gap| gaps << gap if measuring } }
      Plait.map([BLOCK, BLOCK, nil, *[ONE] * 10], on: :hybrid, limit: 4) do |seconds|
        seconds ? block_for(seconds) : measuring = true
      end
      ticker.cancel
    end
    refute_empty(gaps)
    gaps.max
  end

  def tick
    last = now
    loop do
      sleep(Ticker::PERIOD)
      before, last = last, now
      yield(last - before - Ticker::PERIOD)
    end
  end

  def outcome(seconds)
    @thread = Thread.current
    Plait::Outcome.new(index: 0, item: nil, value: nil, started_at: 0.0, finished_at: seconds)
  end

  def thread_of(sense)
    sense.call(0, nil, 0)
    @thread
  end
end
