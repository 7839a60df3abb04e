# frozen_string_literal: true

require "test_helper"
require "plait/mechanisms/fibers"
require "support/scheduler_cases"
require "timeout"

# A source that waits for its items, on fibers: the items at hand go on meanwhile.
class SupplyTest < Minitest::Test
  include SchedulerCases

  LIMIT = 60

  # --- What goes on

  def test_items_go_on_while_the_source_waits
    gate = Queue.new
    source = Enumerator.new { |items| (items << 1).then { items << gate.pop } }
    values = within do
      Plait.map(source, on: :fibers) do |n|
        gate << 2 if n == 1 && sleep(0.001)
        n
      end
    end
    assert_equal([1, 2], values)
  end

  def test_on_fibers_and_a_pool_too
    gate = Queue.new
    source = Enumerator.new { |items| (items << 1).then { items << gate.pop } }
    assert_equal([1, 2], within { Plait.map(source, on: :hybrid) { |n| n == 1 ? Plait.offload { gate << 2 } && n : n } })
  end

  # The source may be in the middle of something that the caller has a part in, too.
  def test_nothing_is_handed_over_meanwhile
    seen = []
    source = Enumerator.new do |items|
      items << 1
      sleep(0.001) until seen.include?(:done)
      sleep(0.05).then { seen << :waited }
      items << 2
    end
    results = Plait.each_result(source, on: :fibers) do |n|
      sleep(0.001)
      sleep(0.001) until n == 1 || seen.include?(1)
      (seen << :done) && n
    end
    within { results.each { |outcome| seen << outcome.value } }
    assert_equal([:done, :waited, 1, :done, 2], seen)
  end

  def test_it_is_asked_only_when_an_item_is_wanted
    asked = 0
    Plait.each_result(Enumerator.new { |items| loop { items << (asked += 1) } }, on: :fibers, limit: 2) { |n| n }.first(5)
    assert_operator(asked, :<, 12)
  end

  def test_a_hundred_thousand_items
    source = Enumerator.new { |items| 100_000.times { |n| items << n } }
    assert_equal((0...100_000).sum, Plait.each_result(source, on: :fibers, &:itself).sum(&:value))
  end

  # --- How it is run

  def test_it_sees_the_locals_of_its_caller
    Thread.current[:plait_test] = 5
    assert_equal([5], Plait.map(Enumerator.new { |items| items << Thread.current[:plait_test] }, on: :fibers) { |n| n })
  ensure
    Thread.current[:plait_test] = nil
  end

  def test_its_errors_are_the_callers
    ended = []
    assert_no_leaks(fibers: true) do
      source = Enumerator.new { |items| (items << 1).then { sleep(0.01).then { raise IOError, "the source broke" } } }
      error = assert_raises(IOError) { Plait.map(source, on: :fibers) { ensuring(ended) { sleep } } }
      assert_equal(["the source broke", [1]], [error.message, ended])
    end
  end

  def test_a_throw
    source = Enumerator.new { |items| (items << 1).then { throw(:out, 7) } }
    assert_equal(7, catch(:out) { Plait.map(source, on: :fibers) { |n| n } })
  end

  def test_a_source_that_is_a_run_itself
    doubled = Plait.each_result([1, 2, 3].each_entry, on: :fibers) { |n| sleep(0.001).then { n * 2 } }
    values = within { Plait.each_result(doubled.lazy.map(&:value), on: :fibers) { |n| sleep(0.001).then { n + 1 } }.map(&:value) }
    assert_equal([3, 5, 7], values.sort)
  end

  # --- How it ends

  def test_the_deadline
    ended = []
    assert_no_leaks(fibers: true) do
      assert_raises(Plait::DeadlineExceeded) { within { Plait.map(waiting(ended), on: :fibers, deadline: 2) { |n| n } } }
      outcomes = within { Plait.map(waiting(ended), on: :fibers, deadline: 2, on_error: :collect) { |n| n } }
      assert_equal([[1], [1, 1]], [outcomes.map(&:value), ended])
    end
  end

  def test_a_failure_does_not_wait_for_it
    ended = []
    waits = false
    assert_no_leaks(fibers: true) do
      source = waiting(ended) { waits = true }
      failing = -> { sleep(0.001) until waits }
      assert_raises(KeyError) { within { Plait.map(source, on: :fibers) { failing.call.then { raise KeyError } } } }
      assert_equal([1], ended)
    end
  end

  def test_leaving_early
    ended = []
    assert_no_leaks(fibers: true) do
      source = Enumerator.new { |items| ensuring(ended) { loop { items << 1 } } }
      assert_equal(1, Plait.each_result(source, on: :fibers, limit: 1) { |n| n }.each { |outcome| break outcome.value })
      assert_equal([1], ended)
    end
  end

  def test_an_exception_from_outside
    [-> { sleep }, -> { compute }].each do |work|
      ended = []
      source = Enumerator.new { |items| (items << 1).then { ensuring(ended) { work.call } } }
      assert_no_leaks(fibers: true) do
        assert_raises(Plait::TimeoutError) { Plait.timeout(2) { Plait.map(source, on: :fibers) { ensuring(ended) { sleep } } } }
      end
      assert_equal([1, 1], ended)
    end
  end

  # In the middle of its `yield`.
  def test_a_time_limit_of_its_own
    source = Enumerator.new { |items| Timeout.timeout(0.05) { loop { items << 1 } } }
    assert_raises(Timeout::Error) { within { Plait.map(source, on: :fibers, limit: 1) { sleep(0.01) } } }
  end

  def test_one_that_will_not_end_is_given_up
    with_constant(Plait::Mechanisms.const_get(:Fibers).const_get(:Pool), :GRACE, 0.05) do
      source = Enumerator.new { |items| (items << 1).then { stubborn } }
      assert_no_leaks do
        outcomes = within { Plait.map(source, on: :fibers, deadline: 2, on_error: :collect) { |n| n } }
        assert_equal([1], outcomes.map(&:value))
      end
    end
  end

  private

  def within(&block) = Timeout.timeout(LIMIT, &block)

  # A source that has one item and then waits.
  def waiting(ended)
    Enumerator.new do |items|
      items << 1
      ensuring(ended) do
        yield if block_given?
        sleep(LIMIT)
      end
    end
  end

  def ensuring(ended)
    yield
  ensure
    ended << 1
  end

  def compute
    limit = now + LIMIT
    nil until now > limit
  end

  def stubborn
    sleep
  rescue Plait::Mechanisms::Interruption
    retry
  end
end
