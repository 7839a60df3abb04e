# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/mariadb_server"
require_relative "../support/postgres_server"
require "plait/suites"

class DatabasesSuiteTest < Minitest::Test
  SUITE = Plait::Suites.fetch("databases")

  def setup
    %w[trilogy mysql2 pg].each { |gem| require gem }
    [Support::MariadbServer::PROGRAM, Support::PostgresServer::PROGRAM].each(&:path!)
  rescue LoadError
    skip("the drivers are not installed: bundle install --with drivers")
  end

  # On servers of its own: every row gives the same answers.
  def test_all_rows_agree
    workloads = SUITE.workloads(requests: 6, latency: 0.001, limits: [3])
    assert_equal(%w[databases-mariadb databases-postgresql], workloads.map(&:name))
    answers = workloads.flat_map { |workload| workload.around { workload.cells.map { |cell| answer(cell) } } }
    assert_equal([["name7920", 79_245, 1000], ["name15839", 158_435, 1000]], answers.first.first(2))
    assert_equal(1, answers.uniq.size)
  end

  def test_somebody_elses_server
    server = Support::MariadbServer.shared
    url = "mysql2://#{server.user}@#{server.host}:#{server.port}/#{server.database}"
    workload = SUITE.workloads(requests: 3, latency: 0, limits: [2], on: %i[threads fibers], url: url).first
    assert_equal(["threads + mysql2 (limit 2)", "fibers + mysql2 (limit 2)"], workload.cells.map(&:label))
    answers = workload.around { workload.cells.map { |cell| answer(cell) } }
    assert_equal(["name7920", 79_245, 1000], answers.uniq.first.first)
    Plait::DB.connect(url) { |db| assert_empty(db.query("SHOW TABLES LIKE 'plait_lab%'")) }
  end

  def test_what_is_wrong
    error = assert_raises(Plait::UsageError) { SUITE.workloads(url: "http://example.org/") }
    assert_match(/is no database of this suite: give one like trilogy:/, error.message)
    { requests: 0, latency: -1, limits: [0] }.each { |option, value| assert_raises(Plait::UsageError) { SUITE.workloads(option => value) } }
  end

  private

  # In a process of its own, as the lab does it.
  def answer(cell)
    reader, writer = IO.pipe
    pid = fork { tell(writer) { Plait.map(cell.items, on: cell.on, limit: cell.limit, &cell.body) } }
    writer.close
    answer = Marshal.load(reader.read)
    answer.is_a?(String) ? flunk(answer) : answer
  ensure
    Process.wait(pid)
  end

  # What the block gives, or its error's report; then the process ends, whatever was raised.
  def tell(writer)
    Marshal.dump(yield, writer)
  rescue Exception => e
    Marshal.dump(e.full_message(highlight: false), writer)
  ensure
    writer.close
    exit!(0)
  end
end
