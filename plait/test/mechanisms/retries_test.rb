# frozen_string_literal: true

require "test_helper"

class RetriesTest < Minitest::Test
  Retries = Plait::Mechanisms::Retries

  def test_a_count
    retries = Retries.from(2)
    assert(retries.again?(RuntimeError.new, 2))
    refute(retries.again?(RuntimeError.new, 3))
    refute(Retries.from(nil).again?(RuntimeError.new, 1))
  end

  def test_only_the_named_errors
    retries = Retries.from(count: 5, on: [IOError, KeyError])
    assert(retries.again?(EOFError.new, 1))
    refute(retries.again?(ArgumentError.new, 1))
  end

  def test_what_may_be_done_already_only_when_it_is_named
    done = Class.new(Plait::Unrepeatable)
    refute(Retries.from(5).again?(done.new, 1))
    refute(Retries.from(count: 5, on: [Plait::Error, Exception]).again?(done.new, 1))
    assert(Retries.from(count: 5, on: done).again?(done.new, 1))
    assert(Retries.from(count: 5, on: [IOError, Plait::Unrepeatable]).again?(done.new, 1))
  end

  def test_interrupts_are_not_retried
    refute(Retries.from(5).again?(Interrupt.new, 1))
    refute(Retries.from(5).again?(SystemExit.new, 1))
  end

  def test_pauses_grow_up_to_a_maximum
    retries = Retries.from(count: 9, base: 1, factor: 3, max: 10, jitter: 0)
    assert_equal([1, 3, 9, 10, 10], (1..5).map { |attempts| retries.pause(attempts) })
  end

  def test_no_pause_however_many_attempts
    assert_equal([0, 0], [1, 5_000].map { |attempts| Retries.from(count: 9_999, base: 0).pause(attempts) })
  end

  def test_jitter_shortens_them_at_random
    retries = Retries.from(count: 9, base: 1, jitter: 0.5)
    pauses = Array.new(100) { retries.pause(1) }
    assert_operator(pauses.min, :>=, 0.5)
    assert_operator(pauses.max, :<=, 1.0)
    assert_operator(pauses.uniq.size, :>, 1)
  end

  def test_what_it_does_not_know
    assert_match(/doesn't know :tries/, assert_raises(Plait::UsageError) { Retries.from(tries: 1) }.message)
    assert_raises(Plait::UsageError) { Retries.from("often") }
    assert_raises(Plait::UsageError) { Retries.from(count: 1.5) }
  end
end
