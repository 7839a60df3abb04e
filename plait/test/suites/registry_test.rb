# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/suites"

class SuitesTest < Minitest::Test
  Suites = Plait::Suites

  def test_fetch_by_string_and_symbol
    assert_equal "Plait::Suites::Waiting", Suites.fetch("waiting").class.name
    assert_same Suites.fetch("http"), Suites.fetch(:http)
    assert_equal %w[waiting http computing rpc databases shard], Suites.names
  end

  def test_an_unknown_suite_is_told_the_known_ones
    error = assert_raises(Plait::UsageError) { Suites.fetch("wating") }
    assert_equal 'there is no suite "wating"; there are waiting, http, computing, rpc, databases, shard', error.message
  end

  def test_every_suite_takes_every_option_and_nil_for_its_default
    options = { scale: 0.5, requests: 3, url: nil, latency: 0.01, limits: [2], on: nil, size: nil, sizes: [1], brief: true }
    Suites.all.each do |suite|
      workloads = suite.workloads(**options)
      refute_empty workloads
      assert(workloads.all?(Plait::Lab::Workload))
      refute_empty suite.title + suite.summary
    end
  end

  def test_brief_is_smaller_unless_said_otherwise
    seconds = ->(**options) { Suites.fetch("waiting").workloads(**options).first.cells.first.items.sum }
    assert_in_delta 10, seconds.call
    assert_in_delta 0.2, seconds.call(brief: true)
    assert_in_delta 2, seconds.call(brief: true, scale: 0.2)
  end

  def test_mechanisms_are_chosen_by_on
    workload = Suites.fetch("waiting").workloads(on: [:fibers, %i[processes threads]]).first
    assert_equal [:fibers, %i[processes threads]], workload.cells.map(&:on)
    error = assert_raises(Plait::UsageError) { Suites.fetch("waiting").workloads(on: [%i[threads fibers]]) }
    assert_match(/the suite waiting has no row on threads\+fibers, only on sequence, .*, processes\+threads\z/, error.message)
  end

  def test_values_without_sense_are_refused
    { scale: 0, requests: 0, latency: -1, size: -1, limits: [0], sizes: [0] }.each do |option, value|
      error = assert_raises(Plait::UsageError) { [*Suites.all, Suites.fetch("rpc")].each { |suite| suite.workloads(option => value) } }
      assert_match(/#{option.to_s.chomp("s")}s? must be .*, not #{Array(value).first}/, error.message)
    end
  end
end
