# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/suites"
require "plait/suites/waiting"

class WaitingSuiteTest < Minitest::Test
  SCALE = 0.1
  ALL_THREE = 10 * SCALE

  # Structural: sleeps in a row never take less than their sum. On a busy machine overlapping sleeps take less only sometimes.
  def test_the_sum_in_sequence_and_less_where_they_wait_together
    left = Plait::Suites::Waiting::MECHANISMS
    wait_until(timeout: 100, what: "an overlap on each mechanism") do
      walls = walls_of(session(left).run)
      assert_operator walls.delete(:sequence), :>=, ALL_THREE
      left = [:sequence, *walls.select { |_, wall| wall >= ALL_THREE }.keys]
      left.one?
    end
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

  def walls_of(report)
    assert_empty report.mismatches
    assert(report.rows.none?(&:failed?))
    report.rows.select(&:measured?).to_h { |row| [row.on, row.measurements.first.wall] }
  end

  def session(on)
    workload = Plait::Suites.fetch("waiting").workloads(scale: SCALE, on: on).first
    Plait::Lab::Session.new(workload, rounds: 1, memory: false)
  end
end
