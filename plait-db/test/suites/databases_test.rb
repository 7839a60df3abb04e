# frozen_string_literal: true

require "test_helper"
require "support/fresh_ruby"
require "support/mariadb_server"
require "support/postgres_server"
require "support/program"
require "plait/suites/databases"

class DatabasesSuiteTest < Minitest::Test
  SUITE = Plait::Suites.fetch("databases")
  AB = Support::Program.new("ab", apt: "apache2-utils", brew: "httpd")
  ANSWER = "name7920 79245 1000\n"

  def setup
    %w[trilogy mysql2 pg mongo eventmachine].each { |gem| require gem }
    [Support::MariadbServer::PROGRAM, Support::PostgresServer::PROGRAM, AB].each(&:path!)
  rescue LoadError
    skip("the drivers are not installed: bin/setup test drivers")
  end

  # On servers of its own: every way gives the same answers, and none fails.
  def test_all_rows_agree
    workloads = SUITE.workloads(requests: 40, latency: [0.001], limits: [8])
    assert_equal(%w[databases-mariadb-1ms databases-postgresql-1ms databases-mongodb-1ms], workloads.map(&:name))
    workloads.each { |workload| keep_some(workload) }
    reports = workloads.map { |workload| measure(workload) }
    reports.each { |report| assert_whole(report) }
    answers = reports.flat_map(&:rows).map { |row| row.trials.first.results.previews.first }
    assert_equal([ANSWER.inspect], answers.uniq)
  end

  def test_the_table_is_that_of_ab_and_what_it_has_cost
    workload = SUITE.workloads(requests: 30, latency: [0], limits: [5], on: %i[fibers]).first
    keep_some(workload)
    report = measure(workload)
    table = workload.tables(report.rows).first
    assert_equal("5 connections, reused", table.title)
    assert_equal(["requests/s", "100 %, ms", "peak MB", "kB/connection"], table.columns.values_at(1, 11, 13, 14))
    assert_equal(workload.cells.size, table.rows.size)
    assert_match(/5 connections, reused: .* answers? most, .* requests.*one round: a hint/, workload.verdict(report.rows).first)
  end

  def test_somebody_elses_server
    server = Support::MariadbServer.shared
    url = "mysql2://#{server.user}@#{server.host}:#{server.port}/#{server.database}"
    workload = SUITE.workloads(requests: 10, latency: [0], limits: [2], on: %i[threads], url: url).first
    assert_equal(["threads", "a thread per connection"].map { |way| "#{way} + mysql2 (limit 2)" },
                 workload.cells.map(&:label))
    assert_whole(measure(workload))
    Plait::DB.connect(url) { |db| assert_empty(db.query("SHOW TABLES LIKE 'plait_lab%'")) }
  end

  def test_an_app_that_fails_is_no_figure
    url = "mysql2://root@127.0.0.1:1/none"
    workload = SUITE.workloads(requests: 5, latency: [0], limits: [1], on: %i[fibers], url: url).first
    trial = workload.cells.first.runner.call(workload.cells.first)
    assert_match(/the server answered 500 to .*Mysql2::Error/, trial.failure)
  end

  # EventMachine, ended by an exception, crashes with pages about it.
  def test_the_server_of_the_historical_row_ends_without_a_word
    result = Support::FreshRuby.run(<<~RUBY)
      require "plait/suites/databases/event_machine"
      server = Plait::Suites::Databases::EventMachine.new(url: "mysql2://root@127.0.0.1:1/none", size: 0)
      server.run { EventMachine.next_tick { Process.kill(:TERM, Process.pid) } }
    RUBY
    assert_equal(["", "", true], [result.out, result.err, result.success?])
  end

  # What takes minutes, and what takes an hour.
  def test_the_usual_and_the_full_experiment
    usual, full = [{}, { full: true }].map { |how| SUITE.workloads(**how).to_h { |one| [one.name, one.cells.map(&:label)] } }
    assert_equal(usual.keys, full.keys)
    assert_equal([[100, 1000, 1000, 10_000], [1000]], limits(usual, /\Afibers \+ trilogy/, "mariadb"))
    assert_equal([[100, 1000, 1000, 10_000]] * 2, limits(full, /\Afibers \+ trilogy/, "mariadb"))
    assert_equal([[100, 1000, 1000], [1000]], limits(usual, /\Afibers \+ mongodb/, "mongodb"))
    assert_equal([[100, 1000, 1000, 10_000]] * 2, limits(full, /\Afibers \+ mongodb/, "mongodb"))
  end

  # Without reuse the middle one of the numbers of connections alone is measured.
  def test_connections_that_are_not_reused
    labels = SUITE.workloads(latency: [0]).first.cells.map(&:label)
    assert_includes(labels, "fibers + trilogy, new connections (limit 1000)")
    refute_includes(labels, "fibers + trilogy, new connections (limit 100)")
    assert_includes(labels, "EventMachine + fibers + mysql2 (limit 10000)")
  end

  def test_what_is_wrong
    error = assert_raises(Plait::UsageError) { SUITE.workloads(url: "http://example.org/") }
    assert_match(/is no database of this suite: give one like trilogy:/, error.message)
    error = assert_raises(Plait::UsageError) { SUITE.workloads(url: "oracle://ada:secret@example.org/") }
    refute_match(/secret/, error.message)
    { requests: 0, latency: -1, limits: [0] }.each { |option, value| assert_raises(Plait::UsageError) { SUITE.workloads(option => value) } }
  end

  private

  # @return [Array<Array<Integer>>] for 10 ms and for none
  def limits(labels, row, server)
    labels.fetch_values("databases-#{server}-10ms", "databases-#{server}-0ms")
          .map { |some| some.grep(row).map { |label| Integer(label[/limit (\d+)/, 1]) }.sort }
  end

  # One way by each driver, and each way by one.
  def keep_some(workload)
    workload.cells.select! { |cell| cell.label.match?(/trilogy|EventMachine|\Afibers \+ (?:mysql2|postgres|mongodb)/) }
  end

  def measure(workload) = Plait::Lab::Session.new(workload, rounds: 1, memory: false).run

  def assert_whole(report)
    report.rows.each do |row|
      assert_nil(row.failure)
      assert_equal(0, row.errors, row.label)
      assert_operator(row.rate.median, :>, 0)
      assert_operator(row.cpu.median, :>, 0)
    end
  end
end
