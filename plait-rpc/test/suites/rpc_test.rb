# frozen_string_literal: true

require "test_helper"
require "plait/suites"
require "plait/suites/rpc"

class RpcSuiteTest < Minitest::Test
  # Its trials are processes.
  def hard_timeout = 400

  Rpc = Plait::Suites::Rpc
  WAYS = ["Local, copy", "Local, pack + unpack", "Sync", "Async + get", "Async map", "Sync, 4 threads",
          *Rpc::SERVERS.map { |on| "16 threads, one client; server on #{on}" }].freeze

  def test_rows
    workload = build(sizes: [1, 32])
    assert_equal(WAYS.map { |way| "#{way}, 1 MB" } + WAYS.map { |way| "#{way}, 32 MB" }, workload.cells.map(&:label))
    assert_equal(["1 MB", "32 MB"], workload.cells.map(&:group).uniq)
    assert_equal([[:sequence, 1], [:threads, 4], [:threads, 16]], workload.cells.map { |cell| [cell.on, cell.limit] }.uniq)
  end

  def test_each_way_moves_as_much
    build(sizes: [1, 32]).cells.group_by(&:group).each do |group, cells|
      blocks = { "1 MB" => 16 * 16, "32 MB" => 32 * 16 }.fetch(group)
      assert_equal([blocks], cells.map { |cell| cell.items.sum { |_, count| count } }.uniq)
    end
  end

  def test_sizes
    assert_equal((0..7).map { |power| "#{2**power} MB" }, build.cells.map(&:group).uniq, "the classic ones")
    assert_equal(["3 MB", "5 MB"], build(sizes: [3, 5]).cells.map(&:group).uniq)
    assert_raises(Plait::UsageError) { build(sizes: [0]) }
    assert_raises(Plait::UsageError) { build(sizes: []) }
    assert_raises(Plait::UsageError) { build(sizes: [513]) }
  end

  def test_measured
    assert_no_leaks do
      workload = build(sizes: [1, 2])
      report = Plait::Lab::Session.new(workload, rounds: 2, memory: false).run
      assert_empty(report.rows.filter_map(&:failure))
      assert_empty(report.mismatches)
      check_tables(report.tables)
      assert_equal(["gets by RPC: 1 MB", "gets by RPC: 2 MB"], report.answers.map { |answer| answer.to_h[:work] })
      assert_equal(["Local, copy, 1 MB", "Local, pack + unpack, 1 MB", "Local, copy, 2 MB", "Local, pack + unpack, 2 MB"],
                   report.rows.reject(&:fastest).map(&:label))
    end
  end

  def test_a_wrong_answer_is_noticed
    blocks = Rpc::Blocks.new(3)
    assert_equal(2 * 65_536, Rpc::Blocks.verify(blocks.at(1, 2), 1, 2))
    [blocks.at(0, 2), blocks.at(1, 1), blocks.at(1, 2)[0..-2]].each do |data|
      assert_raises(Rpc::Blocks::WrongAnswer) { Rpc::Blocks.verify(data, 1, 2) }
    end
  end

  def test_a_server_that_does_not_start
    error = assert_raises(Plait::Suites::Companion::StartError) { Rpc::Peer.open(on: :nothing) { flunk } }
    assert_match(/did not start: .*:nothing/, error.message)
  end

  def test_figures
    cells = %w[Local Sync].to_h { |way| [way, cell(way, parts: [[0, 16]] * 4)] }
    rows = [row(cells["Local"], 0.4, 0.6, 2.0), row(cells["Sync"], 1.2)]
    tables = Rpc::ClassicTables.new(rows, { "1 MB" => 1, "2 MB" => 2 }, cells.invert.compare_by_identity, "Local")
    seconds, rates, deviations, shares = tables.all.map(&:rows)
    assert_equal([["Local", "150 ms"], ["Sync", "300 ms"]], seconds)
    assert_equal([["Local", "6.67", "6.67"], ["Sync", "3.33", "3.33"]], rates)
    assert_equal([["Local", "218 ms"], ["Sync", "–"]], deviations)
    assert_equal([["Local", "1.00", "1.00"], ["Sync", "0.50", "0.50"]], shares)
  end

  private

  def build(**options) = Rpc.new.workloads(**options).first

  def check_tables(tables)
    assert_equal(4, tables.size)
    tables.each { |table| assert_equal(WAYS, table.rows.map(&:first)) }
    assert_equal(["", "1 MB", "2 MB", "average"], tables.last.columns)
    assert_equal(["Local, copy", "1.00", "1.00", "1.00"], tables.last.rows.first)
  end

  def cell(way, parts:)
    Plait::Lab::Cell.new(label: way, group: "1 MB", on: :sequence, items: parts, body: :itself.to_proc)
  end

  def row(cell, *walls)
    Plait::Lab::Row.new(cell, walls.map { |wall| Plait::Lab::Measurement.new(label: cell.label, wall: wall, items: 4) })
  end
end
