# frozen_string_literal: true

# bin/test: jruby

require_relative "builders"

class LabCellTest < Minitest::Test
  include LabBuilders

  def test_labels_say_mechanism_and_limit
    assert_equal("sequence", cell.label)
    assert_equal("fibers (limit 64)", cell(:fibers, limit: 64).label)
    assert_equal("processes × fibers (limit 2 × 8)", cell(%i[processes fibers], limit: [2, 8]).label)
    assert_equal("sequence", cell(limit: 1).label)
    assert_equal("mine", cell(label: "mine").label)
  end

  def test_a_series_is_what_differs_in_the_limit_alone
    assert_equal("fibers", cell(:fibers, limit: 64).series)
    assert_equal("fibers + keep-alive", cell(:fibers, limit: 8, label: "fibers + keep-alive (limit 8)").series)
    assert_equal("odd", cell(:fibers, limit: 8, label: "odd").series)
  end

  def test_labels_become_valid_text
    assert_equal("caf?", cell(label: "caf\xE9").label)
    assert_equal("café", cell(label: "café".b).label)
  end

  def test_what_can_not_be_measured_is_refused
    assert_match(/whole number from 1 up, not 0/, refusal { cell(limit: 0) })
    assert_match(/not \[1, -2\]/, refusal { cell(limit: [1, -2]) })
    assert_match(/needs an Array with at least one item, not Array \(empty\)/, refusal { cell(items: []) })
    assert_match(/not Range/, refusal { cell(items: 1..3) })
    assert_match(/needs a body/, refusal { cell(body: 3) })
  end

  def test_the_first_error_ends_a_run_unless_told_otherwise
    failing = ->(item) { item == 2 ? raise(KeyError, "no") : item }
    assert_raises(KeyError) { cell(body: failing).run }
    outcomes = cell(body: failing, options: { on_error: :collect }).run
    assert_equal([nil, KeyError, nil], outcomes.map { |outcome| outcome.error&.class })
  end

  private

  def refusal(&) = assert_raises(Plait::UsageError, &).message
end
