# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/suites/waiting"

class WaitingSuiteTest < Minitest::Test
  SCALE = 0.1
  ALL_THREE = 10 * SCALE

  # Structural: whoever waits together takes 0.5 s of the 1.0.
  def test_the_sum_in_sequence_and_less_where_they_wait_together
    report = session(Plait::Suites::Waiting::MECHANISMS).run
    assert_empty report.mismatches
    assert(report.rows.none?(&:failed?))
    walls = report.rows.select(&:measured?).to_h { |row| [row.on, row.measurements.first.wall] }
    assert_operator walls.delete(:sequence), :>=, ALL_THREE
    walls.each { |on, wall| assert_operator wall, :<, ALL_THREE, "#{on} did not overlap" }
  end

  def test_the_times_are_told_as_they_are
    workload = Plait::Suites.fetch("waiting").workloads(scale: SCALE).first
    assert_equal "Waiting: three functions that sleep 0.3, 0.2, 0.5 s", workload.title
    assert_equal "1 s one after another, 0.5 s under anything concurrent", workload.description
  end

  def test_the_body_may_run_in_a_ractor
    skip("no ractors here") unless defined?(Ractor)
    body = Plait::Suites::Waiting::SLEEP
    assert_equal 0, Ractor.make_shareable(body).call(0)
  end

  private

  def session(on)
    workload = Plait::Suites.fetch("waiting").workloads(scale: SCALE, on: on).first
    Plait::Lab::Session.new(workload, rounds: 1, memory: false)
  end
end
