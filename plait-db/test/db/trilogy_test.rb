# frozen_string_literal: true

require "test_helper"
require_relative "mysql_cases"
require_relative "sql_cases"

class DBTrilogyTest < Minitest::Test
  include SqlCases
  include MysqlCases

  def test_several_statements_at_once_are_refused
    assert_raises(Plait::UsageError) { connect(multi_statement: true) { |database| database.query("SELECT 1") } }
  end

  def test_a_mode_of_tls_that_is_none
    error = assert_raises(Plait::UsageError) { connect(ssl_mode: "perhaps") { |database| database.query("SELECT 1") } }
    assert_match(/ssl_mode: is one of disabled, preferred/, error.message)
  end

  # The server of the tests has no TLS, or one with a certificate of its own making: never in the clear.
  def test_tls_is_never_left_out
    connect(ssl: true) do |database|
      refute_empty(database.query("SHOW STATUS LIKE 'Ssl_cipher'").rows.first.last)
    rescue ::Trilogy::Error => e
      assert_match(/SSL|TLS/i, e.message)
    end
  end

  # The result was read whole: the connection has nothing to do with what becomes of the block.
  def test_a_stream_that_is_left_in_a_transaction
    db.transaction do |tx|
      add(tx, 4)
      tx.stream("SELECT id FROM pairs") { break }
      add(tx, 5)
    end
    assert_equal(5, count)
  end

  def test_what_the_server_commits_by_itself_is_told
    error = assert_raises(Plait::UsageError) { db.transaction { |tx| add(tx, 4) && tx.query("CREATE OR REPLACE TABLE ddl (n INT)") } }
    assert_match(/the statements before it are done for good/, error.message)
    assert_equal(4, count)
  end

  private

  def gem = "trilogy"

  def driver = ::Trilogy

  def server_error = ::Trilogy::Error

  def busy_error = ::Trilogy::SynchronizationError

  def url
    server = Support::MariadbServer.shared
    "trilogy://#{server.user}@#{server.host}:#{server.port}/#{server.database}"
  end
end
