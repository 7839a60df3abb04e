# frozen_string_literal: true

# bin/test: jruby

require_relative "builders"

class LabTablesTest < Minitest::Test
  include LabBuilders

  def test_speed_latency_and_memory
    tables = report(row(:sequence, *[9.0, 11.0] * 4), row(:threads, *[3.0, 3.1] * 4, limit: 8),
                    row(:fibers, *[3.0, 3.2] * 4, limit: 8)).tables
    assert_equal(["sleeping: time", "sleeping: time of one item", "sleeping: allocated per item"], tables.map(&:title))
    speed = tables.first
    assert_equal(["", "time", "min – max", "n", "naps/s", "CPU", "peak RSS", "compared"], speed.columns)
    assert_equal([["sequence", "10.0 s", "9.00 s – 11.0 s", "8", "0.30", "1.00 s", "1.00 MB", "3.27 ×"],
                  ["threads (limit 8)", "3.05 s", "3.00 s – 3.10 s", "8", "0.98", "305 ms", "1.00 MB", "fastest"],
                  ["fibers (limit 8)", "3.10 s", "3.00 s – 3.20 s", "8", "0.97", "310 ms", "1.00 MB", "same (1.02 ×)"]],
                 speed.rows)
    tables.each { |table| assert(table.rows.all? { |cells| cells.size == table.columns.size && cells.all?(String) }) }
  end

  def test_allocations_per_item
    counted = report(row(:sequence, 1.0)).tables.last
    assert_equal([["sequence", "1.23 kB", "12.5", "4.00", "40 B", "1.00", "0", "3", "1.00"]], counted.rows)
  end

  def test_an_interrupted_run_names_what_was_not_measured
    tables = report(row(:sequence, 3.0), Lab::Row.new(cell(:threads), []), interrupted: true).tables
    assert_equal([["threads", "the run ended before its first trial"]], tables.last.rows)
  end

  def test_few_rounds_say_so
    few = report(row(:sequence, 3.0), row(:threads, 1.0)).tables.first
    assert_equal(["3.00 × ?", "1.00 × ?"], few.rows.map(&:last))
    assert_equal(["? not settled: more rounds may change it"], few.notes)
  end

  def test_no_speed_beside_differing_results
    tables = report(row(:sequence, 3.0), row(:threads, 1.0, results: digest_of(2, 5, 6))).tables
    assert_empty(tables)
  end

  def test_what_failed_has_a_table_of_its_own
    failed = Lab::Row.new(cell(:threads), [Lab::Measurement.failed("threads", "KeyError: no")])
    tables = report(row(:sequence, 3.0), failed).tables
    assert_equal([%w[sequence], ["threads", "KeyError: no"]], [tables.first.rows.map(&:first), tables.last.rows.first])
  end

  def test_items_whose_errors_were_collected
    some = row(:threads, 1.0, 1.1)
    some.trials.last.errors = 2
    some.trials.last.first_error = "item 1: KeyError: no"
    tables = report(row(:sequence, 3.0), some).tables
    assert_equal("sleeping: items that failed", tables.last.title)
    assert_equal([["threads", "2 of 3", "item 1: KeyError: no"]], tables.last.rows)
  end

  def test_where_nothing_was_counted_the_reason_is_told_all_the_same
    assert_equal([["ractors", "it crashes Ruby"]], report(row(:ractors, 3.0, memory: "it crashes Ruby")).tables.last.rows)
  end

  def test_a_reason_that_many_rows_share_is_told_once
    rows = %w[a b c d].map { |name| row(:fibers, 3.0, memory: "no time", label: name) }
    assert_equal([["4 rows", "no time"]], report(*rows).tables.last.rows)
    assert_equal([["a, b", "no time"]], report(*rows.first(2)).tables.last.rows)
  end

  def test_what_is_unknown_is_a_dash_and_its_reason_a_note
    bare = row(:sequence, 3.0, memory: "there is no fork here")
    bare.trials.first.peak = bare.trials.first.peak_source = nil
    tables = report(bare, row(:threads, 3.0, memory: allocations(scope: "not all"))).tables
    assert_equal("–", tables.first.rows.first[6])
    assert_equal(["threads: not all", "sequence: there is no fork here"], tables.last.notes)
  end

  def test_rss_and_pss_have_columns_of_their_own
    sampled = row(:processes, 3.0).tap { |one| one.trials.first.peak_source = :sampled_processes }
    speed = report(row(:threads, 2.0), sampled).tables.first
    assert_equal(["peak RSS", "peak PSS of all processes"], speed.columns[6, 2])
    assert_equal([["1.00 MB", "–"], ["–", "1.00 MB"]], speed.rows.map { |cells| cells[6, 2] })
  end

  def test_a_workload_may_have_tables_of_its_own
    report = report(row(:fibers, 1.0), row(:threads, 2.0))
    def (report.workload).tables(rows) = [Plait::Lab::Table.new("mine", [""], rows.map { |row| [row.label] })]
    assert_equal([["mine", [["fibers"], ["threads"]]]], report.tables.map { |table| [table.title, table.rows] })
  end

  def test_a_table_for_each_group
    tables = report(row(:sequence, 3.0, group: "a"), row(:threads, 3.0, group: "b")).tables
    assert_equal(["sleeping: a: time", "sleeping: b: time"], tables.map(&:title).grep(/time\z/))
  end
end
