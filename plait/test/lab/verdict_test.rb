# frozen_string_literal: true

# bin/test: jruby

require_relative "builders"

class LabVerdictTest < Minitest::Test
  include LabBuilders

  def test_a_tie_and_what_takes_longer
    told = verdict(row(:sequence, 9.9, 10.3, cpu: 0.1), row(:threads, 3.0, 3.2), row(:fibers, 3.1, 3.3))
    assert_equal(["threads is the simplest of the fastest: 3.10 s; fibers takes the same; sequence takes 10.1 s (3.26 ×).",
                  "One after another, the work waits 99 % of the time, so what overlaps the waits helps."], told)
  end

  def test_rows_that_scatter_are_not_settled
    told = verdict(row(:sequence, 1.0, 1.1, 1.2), row(:threads, 1.2, 1.0, 1.5))
    assert_equal("sequence is fastest: 1.10 s; not settled: threads 1.20 ×.", told.first)
  end

  def test_one_that_is_fastest
    told = verdict(row(:sequence, 9.9, 10.3, cpu: 10.1), row(:threads, 9.0, 9.1), row(:processes, 5.0, 5.1, cpu: 9.9))
    assert_equal("processes is fastest: 5.05 s; 2 rows take from 9.05 s (1.79 ×) to 10.1 s (2.00 ×), the slowest " \
                 "being sequence.", told.first)
    assert_equal("One after another, the work waits 0 % of the time, the rest is computing; processes kept more than " \
                 "one processor at work.", told.last)
  end

  def test_where_all_tie_nothing_is_called_slower
    assert_equal("threads is the simplest of the fastest: 1.05 s; fibers and hybrid take the same.",
                 verdict(*%i[threads fibers hybrid].map { |on| row(on, 1.0, 1.1) }).first)
  end

  def test_waiting_and_computing_in_turns
    told = verdict(row(:sequence, 2.0, 2.1, cpu: 1.025), row(:threads, 1.0, 1.1))
    assert_match(/waits 50 % of the time, so both/, told.last)
  end

  def test_waiting_where_overlapping_did_not_win_promises_nothing
    assert_equal("One after another, the work waits 90 % of the time.",
                 verdict(row(:sequence, 1.0, 1.1), row(:processes, 2.0, 2.1)).last)
  end

  def test_few_rounds_settle_nothing
    @rounds = 1
    assert_equal("threads is fastest so far, 1.00 s: so few rounds settle nothing.",
                 verdict(row(:sequence, 2.0), row(:threads, 1.0)).first)
  end

  # 44 % of the time went to other programs: a row that takes 1.3 × is not called slower.
  def test_a_busy_machine_unsettles_small_differences
    busy = row(:sequence, 1.3, cpu: 0.5).tap { |one| one.trials.each { |trial| trial.delay = 0.57 } }
    assert_equal("sequence is fastest: 1.30 s; not settled: threads 0.77 ×.", verdict(busy, row(:threads, 1.0)).first)
  end

  def test_a_blocked_loop_is_noticed
    told = verdict(row(:sequence, 10.0, 10.1), row(:threads, 1.0, 1.1), row(:fibers, 9.9, 10.2))
    assert_match(/something in the work blocks the event loop/, told.join)
    refute_match(/blocks/, verdict(row(:sequence, 10.0, 10.1), row(:threads, 9.0, 9.1), row(:fibers, 9.9, 10.2)).join)
  end

  # Zlib on eight processors: threads win, and nothing waits.
  def test_computing_without_the_gvl_is_not_taken_for_a_blocked_loop
    rows = { sequence: [10.0, 10.1], threads: [1.3, 1.4], fibers: [9.9, 10.2] }
    told = verdict(*rows.map { |on, walls| row(on, *walls, cpu: 9.9) })
    refute_match(/blocks the event loop/, told.join)
  end

  def test_a_busy_machine_is_told
    busy = row(:sequence, 2.0, 2.1, cpu: 1.0).tap { |one| one.trials.each { |trial| trial.delay = 0.9 } }
    told = verdict(busy, row(:threads, 1.0, 1.1))
    assert_match(/waits 7 % of the time/, told[1])
    assert_match(/busy with other things: up to 44 %/, told[2])
  end

  def test_where_a_compiler_works_along_nothing_is_said_of_waiting
    rows = [row(:sequence, 9.9, 10.3), row(:threads, 3.0, 3.2)]
    rows.each { |one| one.trials.each { |trial| trial.engine = "jruby" } }
    assert_equal(["threads is fastest: 3.10 s; sequence takes 10.1 s (3.26 ×)."], verdict(*rows))
  end

  def test_limits_are_told_apart_in_a_list
    assert_equal("threads (limit 8) is the simplest of the fastest: 1.05 s; fibers (limit 8) and processes × fibers " \
                 "(limit 2 × 4) take the same.",
                 verdict(row(:threads, 1.0, 1.1, limit: 8), row(:fibers, 1.0, 1.1, limit: 8),
                         row(%i[processes fibers], 1.0, 1.1, limit: [2, 4])).first)
  end

  def test_results_that_differ_leave_no_word_about_speed
    told = verdict(row(:sequence, 10.0, 10.1), row(:threads, 1.0, 1.1, results: digest_of(0)))
    assert_equal(1, told.size)
    assert_match(/threads gave other results than sequence/, told.first)
  end

  def test_groups_are_judged_each_for_itself
    told = verdict(row(:sequence, 1.0, 1.1, group: "a"), row(:threads, 3.0, 3.1, group: "b", label: "t"))
    assert_equal(["a: sequence takes 1.05 s", "b: t takes 3.05 s"], told.grep(/takes/).map { |line| line[/[^;]*/] })
  end

  def test_nothing_was_measured
    assert_empty(verdict(Lab::Row.new(cell, [])))
  end

  private

  # As many rounds as six rows need.
  def row(on, *walls, **rest) = super(on, *walls * (@rounds || 8), **rest)

  def verdict(*rows) = report(*rows).verdict
end
