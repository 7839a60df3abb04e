# frozen_string_literal: true

# bin/test: jruby

require_relative "builders"

class LabAgreementTest < Minitest::Test
  include LabBuilders

  Agreement = Plait::Lab.const_get(:Agreement)

  def test_rows_that_agree
    agreement = Agreement.new([row(:sequence, 1.0), row(:threads, 0.5)])
    assert_empty(agreement.mismatches)
    assert(agreement.agreed?(nil))
  end

  def test_the_sequence_is_what_others_are_held_against
    wrong = row(:threads, 0.5, results: digest_of(2, 5, 6))
    found = Agreement.new([wrong, row(:sequence, 1.0), row(:fibers, 1.0, results: digest_of(9, 9, 9))]).mismatches
    assert_equal(["sequence", %w[threads fibers], 1, "4", "5"], found.first.to_a.drop(1))
    assert_equal("threads, fibers gave other results than sequence; the first that differs is item 1: 4 there, " \
                 "5 in threads", found.first.to_s)
  end

  def test_without_a_sequence_the_most_common_result_is_held_right
    rows = [row(:threads, 1.0, results: digest_of(1)), row(:fibers, 1.0), row(:hybrid, 1.0)]
    assert_equal(["fibers", ["threads"]], Agreement.new(rows).mismatches.first.to_a[1, 2])
  end

  # `sleep` returns 0 or 1: which, depends on the second in which it begins.
  def test_results_that_change_from_run_to_run_are_told_and_not_refused
    rows = [unsteady(:sequence), unsteady(:threads), row(:fibers, 1.0, 1.0)]
    agreement = Agreement.new(rows)
    assert(agreement.agreed?(nil))
    assert(rows.all? { |row| agreement.comparable?(row) })
    assert_match(/\Athe results of sequence, threads differ from run to run.*returns 0 or 1\)\z/, agreement.notices.join)
  end

  def test_a_row_that_changes_where_the_sequence_does_not_is_not_ranked
    steady, racing = row(:sequence, 2.0, 2.0), unsteady(:threads)
    agreement = Agreement.new([steady, racing])
    assert(agreement.agreed?(nil))
    assert_equal([true, false], [steady, racing].map { |row| agreement.comparable?(row) })
    assert_match(/so threads may have a race and are not ranked\z/, agreement.notices.join)
    assert_predicate(report(steady, racing).rows.first, :fastest?)
    assert_equal("–", report(steady, racing).tables.first.rows.last.last)
  end

  def test_a_row_that_is_steadily_wrong_is_refused_beside_one_that_changes
    agreement = Agreement.new([row(:sequence, 1.0, 1.0), unsteady(:threads), row(:fibers, 1.0, 1.0, results: digest_of(0))])
    assert_equal([["fibers"]], agreement.mismatches.map(&:differing))
  end

  def unsteady(on) = Lab::Row.new(cell(on), [measurement(1.0), measurement(1.0, results: digest_of(0))])

  def test_each_group_is_for_itself
    rows = [row(:sequence, 1.0, group: "a"), row(:sequence, 1.0, group: "b", results: digest_of("other")),
            row(:threads, 1.0, group: "b")]
    agreement = Agreement.new(rows)
    assert_equal(["b"], agreement.mismatches.map(&:group))
    assert_equal([true, false], %w[a b].map { |group| agreement.agreed?(group) })
  end

  def test_rows_without_figures_are_left_out
    failed = Lab::Row.new(cell(:threads), [Lab::Measurement.failed("threads", "no")])
    assert_empty(Agreement.new([row(:sequence, 1.0), failed]).mismatches)
  end
end
