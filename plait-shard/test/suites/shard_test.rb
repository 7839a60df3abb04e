# frozen_string_literal: true

require "test_helper"
require "plait/shard/native"
require "support/redis_server"
require "plait/suites"
require "plait/suites/shard"

class ShardSuiteTest < Minitest::Test
  # Its trials start Redis many times.
  def hard_timeout = 600

  Suite = Plait::Suites::Shard
  WAYS = ["direct", "strict 4k", "strict 32k", "lazy 4k", "lazy 32k", "auto 4k", "auto 32k"].freeze
  SIZES = ["16 B", "1 KiB", "32 KiB", "1 MiB", "8 MiB"].freeze

  def setup
    skip("epoll is Linux's") unless Plait.const_defined?(:NativeShard) && Plait.const_get(:NativeShard).const_defined?(:Plane)
    Support::RedisServer::PROGRAM.path!
  end

  def test_rows
    values, keys, mset = build.map { |workload| workload.cells.map(&:label) }
    assert_equal(SIZES.product(WAYS).map { |size, way| "#{way}, SET and GET of #{size}" }, values)
    many = ["1 node", "4 nodes"].product(WAYS.drop(1)).map { |ending, way| "#{way}, #{ending}" }
    assert_equal(["direct", *many].map { |way| "#{way}, KEYS over 1,000,000 keys" }, keys)
    assert_equal(WAYS.map { |way| "#{way}, MSET of 10,000 keys of 1 KiB with 8 KiB each" }, mset)
  end

  # Half of the ways, so that it does not take minutes: the others differ in their options alone.
  def test_measured
    assert_no_leaks do
      reports = build(scale: 0.001).map { |workload| measure(workload) }
      assert_empty(reports.flat_map(&:rows).filter_map(&:failure))
      assert_empty(reports.flat_map(&:mismatches))
      reports.each { |report| check_tables(report.tables) }
      assert_equal(["KEYS over 1,000 keys", :unknown], reports[1].answers.first.to_h.values_at(:work, :certainty))
      assert_equal([nil], reports.flat_map(&:rows).select { |row| row.label.start_with?("direct") }.map(&:fastest).uniq)
    end
  end

  def test_figures_of_its_own_are_in_the_report
    report = measure(build(scale: 0.001).last)
    own = report.to_h.fetch(:rows).last.fetch(:own)
    assert_operator(own.fetch("before_bytes").fetch(:median), :>, 1_000_000)
    assert_includes(own.keys, "after_bytes")
    assert_operator(report.rows.last.peak.median, :>=, 0)
    assert_operator(report.rows.last.cpu.median, :>, 0)
  end

  def test_an_answer_that_is_wrong_is_no_figure
    cell = build(scale: 0.001).last.cells.first
    Plait::Suites::RedisServers.open(1) do |addresses|
      wrong = Suite::Exchange.exact("+NO\r\n", "PING")
      assert_match(/bytes were answered that are wrong/, trial([wrong], addresses).call(cell).failure)
      refused = Suite::Exchange.exact("+NO\r\n", "NONSENSE")
      assert_match(/ERR unknown command/, trial([refused], addresses).call(cell).failure)
      late = Suite::Exchange.exact("+NO\r\n" * 9, "PING")
      hung = trial([late], addresses).call(cell, bound: 0.1)
      assert_equal([:hung, "it was not done after 0.1 s (bound: how long it may take)"], [hung.failure_kind, hung.failure])
    end
  end

  def test_keys_that_come_twice_are_noticed
    exchange = Suite::Tasks::Keys.new(2).exchanges.first
    keys = ->(*numbers) { "*2\r\n#{numbers.map { |n| format("$12\r\nkey:%08d\r\n", n) }.join}" }
    assert_equal(exchange.size, keys.call(1, 2).bytesize)
    assert(exchange.right?(keys.call(2, 1)))
    refute(exchange.right?(keys.call(1, 1)))
  end

  def test_what_is_wrong
    assert_raises(Plait::UsageError) { build(scale: 0) }
    assert_match(/only on sequence/, assert_raises(Plait::UsageError) { build(on: %i[fibers]) }.message)
  end

  def test_without_redis_it_is_said_how_to_get_it
    path = ENV.fetch("PATH")
    ENV["PATH"] = "/nowhere"
    error = assert_raises(Plait::UnsupportedError) { build }
    assert_match(/the suite shard needs Redis: .*apt-get install redis-server/, error.message)
  ensure
    ENV["PATH"] = path
  end

  private

  def build(**options) = Suite.new.workloads(**options)

  def measure(workload)
    workload.cells.select! { |cell| cell.label.match?(/\A(?:direct|strict 4k|lazy 32k)/) }
    Plait::Lab::Session.new(workload, rounds: 1, memory: false).run
  end

  def check_tables(tables)
    tables.each do |table|
      assert_equal(["memory before", "peak", "1 s after"], table.columns.last(3))
      table.rows.each { |row| assert_match(/\A[\d.]+ MB\z/, row[-3], row.inspect) }
    end
  end

  def trial(exchanges, addresses)
    task = Struct.new(:exchanges).new(exchanges)
    Suite::Trial.new(Suite::Way.new("direct", nil, 0...1), task, -> { addresses })
  end
end
