# frozen_string_literal: true

# bin/test: jruby

require_relative "builders"

class LabRowTest < Minitest::Test
  include LabBuilders

  def test_trials_are_summed_up
    one = row(:threads, 2.0, 1.0, 3.0, cpu: 0.5)
    assert_equal([3, 2.0, 1.0, 3.0], [one.n, one.wall.median, one.wall.min, one.wall.max])
    assert_in_delta(1.5, one.rate.median)
    assert_in_delta(0.5 / 3, one.cpu_per_item.median)
    assert_equal(9, one.latencies.n)
    assert_in_delta(2.0, one.typical.wall)
  end

  def test_what_only_its_workload_measures
    mine = Lab::Row.new(cell, [3, 5].map { |bytes| measurement(1.0, own: { "after" => bytes }) } << measurement(1.0))
    assert_equal(["after"], mine.own_names)
    assert_in_delta(4.0, mine.own("after").median)
    assert_nil(mine.own("before"))
    record = report(mine).to_h.fetch(:rows).first
    assert_equal(2, record.fetch(:own).fetch("after").fetch(:n))
    assert_empty(report(row(:threads, 1.0)).to_h.fetch(:rows).first.fetch(:own))
  end

  def test_compared_with_the_fastest
    walls = { sequence: [10.0, 10.1], threads: [3.0, 3.2], fibers: [3.1, 3.3], hybrid: [3.0, 4.0] }
    rows = walls.map { |on, pair| row(on, *pair * 4) }
    report(*rows)
    assert_equal([false, true, false, false], rows.map(&:fastest?))
    assert_equal([:slower, nil, :same, :unsettled], rows.map(&:answer))
    assert_in_delta(((10.0 / 3.0) + (10.1 / 3.2)) / 2, rows.first.ratio)
  end

  def test_failures
    trials = [measurement(1.0), Lab::Measurement.failed("x", "its process was killed", :died)]
    failed = Lab::Row.new(cell, trials)
    assert_equal([true, true, "its process was killed"], [failed.failed?, failed.measured?, failed.failure])
    missing = Lab::Row.new(cell, [Lab::Measurement.failed("x", "not here", :unsupported)])
    assert_equal([false, true, false], [missing.failed?, missing.unsupported?, missing.measured?])
    assert_predicate(Lab::Row.new(cell, []), :untried?)
  end

  def test_why_allocations_are_missing
    one = row(:threads, 1.0, memory: "no time")
    assert_nil(one.allocations)
    assert_equal("no time", one.allocations_missing)
  end
end
