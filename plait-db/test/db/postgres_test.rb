# frozen_string_literal: true

require "test_helper"
require "support/interrupts"
require_relative "sql_cases"

class DBPostgresTest < Minitest::Test
  include SqlCases
  include Support::Interrupts

  # ALTER TABLE changes what a prepared statement gives; DISCARD, or a pooler, loses it.
  def test_a_prepared_statement_that_has_become_wrong
    all = db.prepare("SELECT * FROM pairs ORDER BY id")
    assert_equal(%w[id word], all.call.columns)
    db.query("ALTER TABLE pairs ADD COLUMN more INTEGER")
    assert_equal(%w[id word more], all.call.columns)
    db.with { |connection| connection.exec("DEALLOCATE ALL") }
    assert_equal(%w[id word more], all.call.columns)
    db.with { |connection| connection.exec("DEALLOCATE ALL") }
    assert_raises(::PG::InvalidSqlStatementName) { db.transaction { |tx| tx.prepare(all.sql).call } }
    assert_equal(3, all.call.size)
    assert_equal(1, db.statistics[:connected])
  end

  def test_values_of_ruby_come_back
    bytes = (0..255).to_a.pack("C*")
    time = Time.at(1_770_000_000, 123_456, :usec)
    sql = "SELECT $1::bytea, $2::jsonb, $3::int[], $4::timestamptz, $5::bytea"
    row = db.query(sql, bytes, { "a" => [1, nil] }, [1, 2], time, "ascii".b).rows.first
    assert_equal([bytes, { "a" => [1, nil] }, "{1,2}", time, "ascii"], row)
  end

  # pg makes an IO of its socket, and then says that it must not close it.
  def test_no_interrupt_of_a_caller_comes_as_pg_makes_an_io_of_its_socket
    made = ios_made { assert_equal("two", word(2)) }
    refute_empty(made)
    assert_empty(made.map(&:last) & [Thread.current])
  end

  def test_an_interrupt_leaves_no_io_that_closes_a_socket_of_pg
    %i[reset cancel].each do |call|
      connect do |database|
        driver = database.with(&:itself)
        _, io = interrupt_behind(:for_fd) { driver.public_send(call) }
        refute(!io.closed? && io.autoclose?, call)
      end
    end
    driver = db.with(&:itself)
    driver.reset
    assert_empty(ios_made { driver.exec("SELECT 1").clear })
  end

  private

  def wrong_values = ["a\0b"]

  def gem = "pg"

  def driver = ::PG::Connection

  def server_error = ::PG::Error

  def url
    Support::PostgresServer.shared.url
  end

  def holder(number) = "$#{number}"

  def sleeping(seconds) = "SELECT pg_sleep(#{seconds})"
end
