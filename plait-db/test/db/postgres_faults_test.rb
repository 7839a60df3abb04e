# frozen_string_literal: true

require "test_helper"
require_relative "fault_cases"

class DBPostgresFaultsTest < Minitest::Test
  include FaultCases

  private

  def gem = "pg"

  def driver_error = ::PG::Error

  def server_class = Support::PostgresServer

  def url(server) = server.url

  def connection_id = "SELECT pg_backend_pid()"

  def sleeping(seconds) = "SELECT pg_sleep(#{seconds})"

  def kill_sleeper(db)
    pid = db.query("SELECT pid FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(31)' AND state = 'active'").value
    pid && db.query("SELECT pg_cancel_backend(#{pid})")
  end

  def connections = "SELECT COUNT(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"

  def ending(id) = "SELECT pg_terminate_backend(#{id})"

  def counting(id) = "#{connections} AND pid = #{id}"

  def other_user(&block)
    server = server_class.shared
    Plait::DB.connect(server.url.sub("postgres@", "few@"), size: 1) { |db| block.call(db.query("SELECT 1").value) }
  end

  def hold_all_connections
    with_database(server_class.shared) do |root|
      root.query("CREATE ROLE few LOGIN CONNECTION LIMIT 1")
      Plait::DB.connect(server_class.shared.url.sub("postgres@", "few@"), size: 1) do |held|
        held.query("SELECT 1")
        yield
      end
    ensure
      root.query("DROP ROLE few")
    end
  end
end
