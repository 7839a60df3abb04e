# frozen_string_literal: true

require "test_helper"
require "support/mariadb_server"
require "support/mongo_server"
require "support/postgres_server"
require "plait/suites"
require "plait/suites/databases"

class DatabasesSuiteTest < Minitest::Test
  # Its trials start databases.
  def hard_timeout = 600

  SUITE = Plait::Suites.fetch("databases")
  ANSWERS = [["name7920", 79_245, 1000], ["name15839", 158_435, 1000]].freeze

  def setup
    %w[trilogy mysql2 pg mongo].each { |gem| require gem }
    [Support::MariadbServer::PROGRAM, Support::PostgresServer::PROGRAM].each(&:path!)
  rescue LoadError
    skip("the drivers are not installed: bin/setup test drivers")
  end

  # On servers that the suite starts: every driver under every mechanism gives the same answers, and none fails.
  def test_all_rows_agree
    workloads = SUITE.workloads(requests: 2, latency: [0.001], limits: [2])
    assert_equal(%w[databases-mariadb-1ms databases-postgresql-1ms], workloads.first(2).map(&:name))
    workloads.each { |workload| assert_whole(measure(workload)) }
  end

  def test_a_users_own_server
    server = Support::MariadbServer.shared
    url = "mysql2://#{server.user}@#{server.host}:#{server.port}/#{server.database}"
    workload = SUITE.workloads(requests: 2, latency: [0], limits: [2], on: %i[threads], url: url).first
    assert_equal(["threads + mysql2 (limit 2)"], workload.cells.map(&:label))
    assert_whole(measure(workload))
    Plait::DB.connect(url) { |db| assert_empty(db.query("SHOW TABLES LIKE 'plait_lab%'")) }
  end

  def test_a_users_own_mongodb
    workload, *others = SUITE.workloads(requests: 2, limits: [2], on: %i[threads fibers], url: Support::MongoServer.url)
    assert_equal(["databases-mongodb-0ms", []], [workload.name, others])
    assert_whole(measure(workload))
  end

  def test_a_server_that_is_not_there_is_no_figure
    url = "mysql2://root@127.0.0.1:#{Support::Ports::CLOSED}/none"
    workload = SUITE.workloads(requests: 5, latency: [0], limits: [1], on: %i[fibers], url: url).first
    assert_raises(Mysql2::Error) { measure(workload) }
  end

  # A full run takes more items, and more of them in flight.
  def test_the_usual_and_the_full_run
    usual, full = [{}, { full: true }].map { |how| SUITE.workloads(**how).to_h { |one| [one.name, one.cells] } }
    assert_equal(%w[databases-mariadb-10ms databases-mariadb-0ms databases-postgresql-10ms databases-postgresql-0ms],
                 usual.keys.first(4))
    assert_equal(usual.keys, full.keys)
    assert_equal([[16], [16, 128]], [usual, full].map { |one| one["databases-mariadb-0ms"].map(&:limit).uniq })
    assert_equal([2000, 10_000], [usual, full].map { |one| one["databases-mariadb-0ms"].first.items.size })
  end

  def test_what_is_wrong
    error = assert_raises(Plait::UsageError) { SUITE.workloads(url: "http://example.org/") }
    assert_match(/is no database of this suite: give one like trilogy:/, error.message)
    error = assert_raises(Plait::UsageError) { SUITE.workloads(url: "oracle://ada:secret@example.org/") }
    refute_match(/secret/, error.message)
    { requests: 0, latency: -1, limits: [0] }.each { |option, value| assert_raises(Plait::UsageError) { SUITE.workloads(option => value) } }
  end

  private

  def measure(workload) = Plait::Lab::Session.new(workload, rounds: 1, memory: false).run

  def assert_whole(report)
    report.rows.each do |row|
      assert_nil(row.failure)
      assert_equal(0, row.errors, row.label)
      assert_equal(ANSWERS.map(&:inspect), row.trials.first.results.previews, row.label)
    end
  end
end
