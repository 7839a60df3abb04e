# frozen_string_literal: true

require "test_helper"

class OutcomeTest < Minitest::Test
  def test_a_value
    outcome = Plait::Outcome.new(index: 3, item: :a, value: 7, started_at: 1.0, finished_at: 1.5)
    assert_predicate(outcome, :ok?)
    assert_equal([7, 0.5, 1], [outcome.value!, outcome.duration, outcome.attempts])
  end

  def test_an_error
    outcome = Plait::Outcome.new(index: 0, item: :a, error: KeyError.new("no"))
    refute_predicate(outcome, :ok?)
    assert_nil(outcome.duration)
    assert_raises(KeyError) { outcome.value! }
  end

  def test_matches_patterns
    case Plait::Outcome.new(index: 0, item: :a, value: 7)
    in { ok: true, value: Integer => value } then assert_equal(7, value)
    end
  end

  def test_travels_by_marshal
    copy = Marshal.load(Marshal.dump(Plait::Outcome.new(index: 0, item: [1], value: { a: 1 }, worker: 2)))
    assert_equal([0, [1], { a: 1 }, 2], [copy.index, copy.item, copy.value, copy.worker])
  end
end
