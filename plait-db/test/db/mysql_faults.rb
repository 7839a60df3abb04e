# frozen_string_literal: true

require_relative "fault_cases"

# How MariaDB writes what {FaultCases} needs.
module MysqlFaults
  private

  def server_class = Support::MariadbServer

  def url(server) = "#{gem}://#{server.user}@#{server.host}:#{server.port}/#{server.database}"

  def connection_id = "SELECT CONNECTION_ID()"

  def sleeping(seconds) = "SELECT SLEEP(#{seconds})"

  # SLEEP itself would only end early, and say so by its value.
  def kill_sleeper(db)
    id = db.query("SELECT id FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP(31)%'").value
    id && db.query("KILL #{id}")
  end

  def connections = "SELECT COUNT(*) FROM information_schema.processlist"

  def ending(id) = "KILL #{id}"

  def counting(id) = "#{connections} WHERE id = #{id}"

  def other_user(&block)
    server = server_class.shared
    Plait::DB.connect("#{gem}://few@#{server.host}:#{server.port}/", size: 1) { |db| block.call(db.query("SELECT 1").value) }
  end

  def hold_all_connections
    with_database(server_class.shared) do |root|
      root.query("CREATE OR REPLACE USER few@'%' WITH MAX_USER_CONNECTIONS 1")
      other = server_class.shared
      Plait::DB.connect("#{gem}://few@#{other.host}:#{other.port}/", size: 1) do |held|
        held.query("SELECT 1")
        yield
      end
    ensure
      root.query("DROP USER few@'%'")
    end
  end
end
