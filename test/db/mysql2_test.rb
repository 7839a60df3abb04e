# frozen_string_literal: true

require_relative "../test_helper"
require_relative "mysql_cases"
require_relative "sql_cases"

class DBMysql2Test < Minitest::Test
  include SqlCases
  include MysqlCases

  def test_a_connection_that_comes_back_by_itself_is_refused
    error = assert_raises(Plait::UsageError) { connect(reconnect: true) { |database| database.query("SELECT 1") } }
    assert_match(/reconnect: is not for a pool/, error.message)
  end

  def test_a_thread_that_reads_rows_and_is_killed
    fill_many
    db.query("SELECT 1")
    before = Thread.list
    Plait.run(on: :fibers) do
      assert_raises(Plait::WorkerDied) do
        db.stream("SELECT a.id FROM many a, many b LIMIT 300000") { (Thread.list - before).each(&:kill) }
      end
    end
    assert_equal("two", word(2))
  end

  private

  def blind? = true

  def gem = "mysql2"

  def driver = ::Mysql2::Client

  def server_error = ::Mysql2::Error

  def url
    server = Support::MariadbServer.shared
    "mysql2://#{server.user}@#{server.host}:#{server.port}/#{server.database}"
  end
end
