# frozen_string_literal: true

# bin/test: jruby

require_relative "builders"

class LabAnswerTest < Minitest::Test
  include LabBuilders

  AnswerTable = Lab.const_get(:AnswerTable)

  def test_the_simplest_of_equals_and_a_footnote_with_the_others
    table = table_of(row(:sequence, 9.9, 10.3), row(:threads, 3.0, 3.2), row(:fibers, 3.1, 3.3))
    assert_equal([["sleeping", "threads", "10.1 s → 3.10 s", "3.26 ×", "yes, the simplest of 2 equals [1]"]], table.rows)
    assert_equal(["[1] equal to threads: fibers"], table.notes)
    assert_equal("in sequence → with it", table.columns[2])
  end

  def test_one_that_is_fastest_and_the_second
    rows = [row(:sequence, 9.9, 10.3), row(:threads, 9.0, 9.1), row(:processes, 5.0, 5.1)]
    assert_equal([["processes", "10.1 s → 5.05 s", "2.00 ×", "yes, threads takes 1.79 ×"]], cells(*rows))
  end

  def test_what_is_not_settled
    assert_equal([["sequence", "1.10 s", "", "not settled: threads 1.20 ×"]],
                 cells(row(:sequence, 1.0, 1.1, 1.2), row(:threads, 1.2, 0.9, 1.5)))
    many = Array.new(5) { |number| row(:threads, 1.3, 1.0, 0.8, limit: number + 2) }
    assert_match(/\Anot settled: threads \(limit 2\) 0.91 ×, .* \(limit 4\) 0.91 × and 2 more\z/,
                 cells(row(:sequence, 1.0, 1.1, 1.0), *many).first.last)
  end

  def test_a_row_that_is_at_most_a_little_slower
    assert_equal([["sequence", "1.03 s", "", "yes, at most 3 % slower than threads"]],
                 cells(row(:sequence, 1.03), row(:threads, 1.0, 1.09)))
  end

  # The machine stood still in two of nine rounds: nothing is settled, but the slow row is not the answer.
  def test_disturbed_rounds_do_not_name_the_slow_row
    @rounds = 9
    rows = [row(:sequence, *[1.0] * 9), row(:threads, *[0.05] * 7, 30.0, 30.0), row(:fibers, *[0.06] * 7, 30.0, 30.0)]
    assert_equal([["threads", "1.00 s → 50.0 ms", "20.0 ×", "not settled: sequence 20.0 ×, fibers 1.20 ×"]], cells(*rows))
  end

  def test_few_rounds_name_no_row
    @rounds = 2
    rows = [row(:sequence, 2.0), row(:threads, 1.0), Lab::Row.new(cell(:fibers), [])]
    assert_equal([["–", "", "", "no: too few rounds (2); not measured: fibers"]], cells(*rows))
    assert_nil(answers(*rows).first.to_h[:use])
    assert_equal(:unknown, answers(*rows).first.certainty)
  end

  # 44 % of the time went to other programs: a row that takes 1.3 × is not called slower.
  def test_a_busy_machine_makes_it_less_sure
    busy = row(:sequence, 1.3, cpu: 0.5).tap { |one| one.trials.each { |trial| trial.delay = 0.57 } }
    assert_equal([["sequence", "1.30 s", "",
                   "not settled: threads 0.77 ×; the machine is busy: less than 1.44 × is noise"]],
                 cells(busy, row(:threads, 1.0)))
  end

  def test_equal_trials_that_differ_make_it_less_sure
    threads = Lab::Row.new(cell(:threads), Array.new(8) { measurement(1.0) }, twin: [nil, *[1.3] * 7])
    found = answers(row(:sequence, 1.2), threads).first
    assert_equal([:unsettled, 1.3], [found.certainty, found.to_h[:noise]])
    assert_equal(:clear, answers(row(:sequence, 2.0), threads).first.certainty)
  end

  def test_rows_that_fail
    failed = Lab::Row.new(cell(:fibers), [Lab::Measurement.failed("fibers", "no")])
    assert_equal("yes; failed: fibers", cells(row(:sequence, 2.0), row(:threads, 1.0), failed).first.last)
  end

  def test_nothing_to_compare
    assert_equal([["sequence", "1.00 s", "", "nothing to compare it with"]], cells(row(:sequence, 1.0)))
    assert_equal([["–", "", "", "not measured"]], cells(Lab::Row.new(cell, [])))
  end

  def test_results_that_differ_leave_no_word_about_speed
    rows = [row(:sequence, 10.0, 10.1), row(:threads, 1.0, 1.1, results: digest_of(0))]
    assert_equal([["–", "", "", "no: the results differ"]], cells(*rows))
  end

  def test_a_line_for_each_group_without_its_name_in_labels
    rows = [row(:threads, 1.0, group: "a", label: "one, a"), row(:fibers, 2.0, group: "a", label: "two, a"),
            row(:fibers, 2.0, group: "b", label: "b")]
    table = table_of(*rows)
    assert_equal([["sleeping: a", "one"], ["sleeping: b", "b"]], table.rows.map { |cells| cells.first(2) })
    assert_equal("simplest → with it", table.columns[2])
    assert_equal("yes, two takes 2.00 ×", table.rows.first.last)
  end

  def test_a_row_that_shows_what_is_possible_is_no_answer
    possible = row(:sequence, 0.1, choice: false)
    assert_equal("threads", cells(row(:sequence, 2.0, label: "s"), row(:threads, 1.0), possible).first.first)
    assert_nil(possible.fastest)
  end

  private

  # As many rounds as six rows need.
  def row(on, *walls, **rest) = super(on, *walls * (@rounds || 8), **rest)

  def answers(*rows) = report(*rows).answers

  def table_of(*rows) = AnswerTable.of(answers(*rows).map(&:to_h))

  def cells(*rows) = table_of(*rows).rows.map { |cells| cells.drop(1) }
end
