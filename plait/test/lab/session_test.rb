# frozen_string_literal: true

# bin/test: jruby

require_relative "builders"

class LabSessionTest < Minitest::Test
  include LabBuilders

  NAP = ->(item) { sleep(0.01) && (item * 2) }

  def test_every_cell_is_measured_in_every_round
    cells = naps(:sequence, :threads) << cell(:threads, label: "again", body: NAP)
    report = assert_no_leaks { run_session(cells, rounds: 2) }
    assert_equal([2, 2, 2], report.rows.map(&:n))
    assert_equal([2, false, false, nil], [report.rounds_done, report.interrupted?, report.mismatch?, report.error])
    assert_equal(Process.respond_to?(:fork) ? 0 : 1, report.notes.size)
    assert_equal([report.rows.min_by { |row| row.wall.median }], report.rows.select(&:fastest?))
    assert(report.rows.all?(&:allocations)) if Process.respond_to?(:fork) && RUBY_ENGINE == "ruby"
  end

  def test_the_order_is_random_and_follows_from_the_seed
    cells = naps(*Array.new(8, :sequence)) { |_, number| { label: number.to_s, items: [1] } }
    orders = [1, 1, 2].map { |seed| order_of(cells, seed) }
    assert_equal(orders[0], orders[1])
    refute_equal(orders[0], orders[2])
    assert_equal(cells.map(&:label) * 2, orders[0].each_slice(8).flat_map(&:sort))
    refute_equal(orders[0].first(8), orders[0].last(8))
  end

  def test_a_new_seed_each_time_and_it_is_told
    seeds = Array.new(2) { run_session(naps(:sequence), rounds: 1, memory: false).seed }
    refute_equal(*seeds)
  end

  def test_events_count_up_to_the_total
    events = []
    run_session(naps(:sequence, :threads), rounds: 2, on_event: events.method(:<<))
    assert_equal(:session_started, events.first[:type])
    steps = Process.respond_to?(:fork) ? 6 : 4 # without a fork nothing is counted
    assert_equal([:session_finished, steps, steps], events.last.values_at(:type, :done, :total))
    assert_equal([1, 1, 2, 2], events.filter_map { |event| event[:round] if event[:type] == :trial_started })
    assert_equal(4, events.count { |event| event[:measurement] })
  end

  def test_results_that_differ_are_named
    cells = naps(:sequence, :threads)
    cells << cell(:threads, label: "other", items: [1, 2, 3], body: ->(item) { item == 3 ? "stray" : item * 2 })
    report = run_session(cells, rounds: 1, memory: false)
    assert_predicate(report, :mismatch?)
    assert_equal([["other"], 2, "6", "\"stray\""], report.mismatches.first.to_a.drop(2))
    assert(report.rows.none?(&:fastest))
  end

  def test_a_cell_that_fails_does_not_stop_the_others_and_is_not_tried_again
    ran = 0
    cells = naps(:sequence) << cell(:threads, body: ->(_) { raise KeyError, "no" })
    count = ->(event) { ran += 1 if event[:type] == :trial_started }
    report = run_session(cells, rounds: 3, memory: false, on_event: count)
    assert_equal([3, 0], report.rows.map(&:n))
    assert_equal([true, 1], [report.failed?, report.rows.last.trials.size])
    assert_match(/KeyError: no/, report.rows.last.failure)
    assert_equal(4, ran)
  end

  def test_a_child_killed_from_outside_is_one_failed_row
    skip("no fork here") unless Process.respond_to?(:fork)
    cells = naps(:sequence) << cell(:threads, body: ->(_) { Process.kill(:KILL, Process.pid) && sleep })
    report = assert_no_leaks { run_session(cells, rounds: 1) }
    assert_match(/killed by SIGKILL/, report.rows.last.failure)
    assert_predicate(report.rows.first, :measured?)
  end

  def test_an_interrupt_keeps_what_was_measured
    stopped = []
    report = assert_no_leaks do
      run_session(naps(:sequence, :threads), rounds: 5, around: ->(&block) { ensure_told(stopped, &block) },
                                             memory: false, on_event: interrupt_at(:trial_started, round: 2))
    end
    assert_equal([true, 1], [report.interrupted?, report.rounds_done])
    assert(report.rows.all?(&:measured?))
    assert_equal([true], stopped)
  end

  def test_an_interrupt_before_anything_was_measured
    report = run_session(naps(:sequence), on_event: interrupt_at(:trial_started, round: 1))
    assert_predicate(report, :interrupted?)
    assert_predicate(report.rows.first, :untried?)
    assert_empty(report.tables)
  end

  def test_an_error_around_the_cells_is_raised_only_while_nothing_is_lost
    assert_raises(IOError) { run_session(naps(:sequence), around: ->(&_) { raise IOError, "can't be started" }) }
    stubborn = ->(&block) { block.call && raise(IOError, "can't be stopped") }
    report = run_session(naps(:sequence), rounds: 1, around: stubborn)
    assert_equal([1, "can't be stopped"], [report.rows.first.n, report.error.message])
  end

  def test_a_budget_leaves_out_rounds_but_never_the_first
    report = run_session(naps(:sequence, :threads), rounds: 50, memory: false, budget: 0.01)
    assert_equal([1, [1, 1]], [report.rounds_done, report.rows.map(&:n)])
    assert_match(/1 of 50 rounds were run/, report.notes.join)
  end

  def test_rounds_go_on_until_they_settle
    report = run_session(canned(sequence: [2.0, 2.1], threads: [1.0, 1.1]))
    assert_equal([6, nil, :clear], [report.rounds_done, report.rounds, report.rows.last.judgement.certainty])
    assert_match(/6 rounds were run: more of them would change no answer/, report.notes.join)
  end

  def test_what_never_settles_ends_with_the_rounds_or_the_budget
    report = run_session(canned(sequence: [1.0, 2.0], threads: [1.5, 1.5]))
    assert_equal([Lab::Session::MOST, :unsettled], [report.rounds_done, report.rows.last.judgement.certainty])
    short = run_session(naps(:sequence, :threads), budget: 0.01, memory: false)
    assert_match(/1 of at most 40 rounds were run/, short.notes.join)
  end

  # Slower than the best for sure: it rests, and the others go on in rounds that are as long as their own trials.
  def test_a_row_that_is_settled_rests
    report = run_session(canned(sequence: [9.0], threads: [1.0, 2.0], fibers: [1.5, 1.5]))
    assert_equal([7, Lab::Session::MOST, Lab::Session::MOST], report.rows.map(&:n))
    assert_equal([8] * 2, run_session(canned(sequence: [9.0], threads: [1.0]), rounds: 8).rows.map(&:n))
  end

  # Fibers are slower than threads for sure, and rest; then processes are the best, of which that is not known.
  def test_a_row_that_rests_resumes_where_another_is_the_best
    processes = ([0.7, 1.4] * 5) + ([0.7] * (Lab::Session::MOST - 10))
    rows = run_session(canned(threads: [1.0], fibers: [1.2], processes: processes)).rows
    fibers = rows[1]
    assert_includes(fibers.seconds, nil, "it has rested")
    assert_operator(fibers.seconds.rindex(&:itself), :>, fibers.seconds.index(nil), "it has resumed")
    assert_equal(rows.first.seconds.size, fibers.seconds.size)
  end

  def test_the_shortest_row_has_a_twin_from_the_second_round_on
    cells = [cell(:sequence, body: ->(item) { sleep(0.1) && (item * 2) }), cell(:threads, body: ->(item) { item * 2 })]
    rows = run_session(cells, rounds: 3, memory: false).rows
    assert_equal([[], [NilClass, Float, Float]], rows.map { |row| row.twin.map(&:class) }.sort_by(&:size))
  end

  def test_a_runner_measures_elsewhere
    runner = ->(cell, warmup:, bound:) { measurement(warmup + bound).tap { |found| found.label = cell.label } }
    report = run_session([cell(:sequence, runner: runner)], rounds: 2, bound: 5.0)
    assert_in_delta(6.0, report.rows.first.wall.median)
    assert_nil(report.rows.first.allocations)
  end

  def test_wrong_options
    assert_match(/rounds: must be a whole number from 1, not 0/, refusal { run_session(naps(:sequence), rounds: 0) })
    assert_match(/warmup: must be a whole number from 0, not -1/, refusal { run_session(naps(:sequence), warmup: -1) })
    assert_match(/bound: must be a number of seconds above 0, not -1/, refusal { run_session(naps(:sequence), bound: -1) })
    assert_match(/budget: must be a number of seconds above 0, not "9"/, refusal { run_session(naps(:sequence), budget: "9") })
    assert_raises(Plait::UnknownMechanism) { run_session(naps(:nothing)) }
  end

  private

  # @param walls [Hash{Symbol => Array<Float>}] seconds that each trial reports in turns
  def canned(**walls)
    walls.map do |on, seconds|
      turns = seconds.cycle
      cell(on, runner: ->(*, **) { measurement(turns.next, cpu: 0.1) })
    end
  end

  def naps(*mechanisms)
    mechanisms.each_with_index.map do |on, number|
      more = block_given? ? yield(on, number) : {}
      cell(on, body: NAP, **more)
    end
  end

  def run_session(cells, around: nil, **options)
    Lab::Session.new(Lab::Workload.new(name: "w", cells: cells, around: around), **options).run
  end

  def order_of(cells, seed)
    order = []
    note = ->(event) { order << event[:cell].label if event[:type] == :trial_started }
    run_session(cells, rounds: 2, memory: false, seed: seed, on_event: note)
    order
  end

  def interrupt_at(type, round:) = ->(event) { raise Interrupt if event[:type] == type && event[:round] == round }

  def ensure_told(told)
    yield
  ensure
    told << true
  end

  def refusal(&) = assert_raises(Plait::UsageError, &).message
end
