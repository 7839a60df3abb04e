# frozen_string_literal: true

require "test_helper"
require_relative "mysql_cases"
require_relative "sql_cases"
require "support/slow_door"
require "support/waiting"

class DBMysql2Test < Minitest::Test
  include SqlCases
  include MysqlCases
  include Support::Waiting

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

  # The driver awaits the greeting in C, where nothing reaches it before its own timeout.
  def test_a_cut_while_it_connects_is_not_waited_for
    silent_server do |port, sockets|
      url = "mysql2://root@127.0.0.1:#{port}/none?connect_timeout=60"
      Plait::DB.connect(url, size: 1) do |database|
        in_growing_times(0.02, 0.2, 1) do |seconds|
          started = Plait::Deadline.now
          20.times do |n|
            on = n.even? ? :fibers : :threads
            assert_raises(Plait::TimeoutError) { Plait.run(on: on) { Plait.timeout(seconds) { database.query("SELECT 1") } } }
          end
          assert_operator(Plait::Deadline.now - started, :<, 40, "each cut waits for the driver, or for a thread")
          assert_equal(1, sockets.size, "all of them wait for one connection")
        end
      end
    end
  end

  def test_a_connection_that_comes_too_late_is_the_next_callers
    door = Support::SlowDoor.start(to: Support::MariadbServer.shared.port, seconds: 0.3)
    late = url.sub(/:\d+/, ":#{door.port}")
    Plait::DB.connect(late, size: 1) do |database|
      before = connections
      assert_raises(Plait::TimeoutError) { Plait.run(on: :fibers) { Plait.timeout(0.05) { database.query("SELECT 1") } } }
      wait_until { database.statistics[:idle] == 1 }
      assert_equal(1, Integer(Plait.run(on: :fibers) { database.query("SELECT 1").value }))
      assert_equal(before + 1, connections)
    end
  ensure
    door&.stop
  end

  private

  def connections = Integer(db.query("SELECT COUNT(*) FROM information_schema.processlist").value)

  # Takes connections, and says nothing.
  def silent_server
    listener = TCPServer.new("127.0.0.1", 0)
    sockets = []
    accepting = Thread.new { loop { sockets << listener.accept } }
    yield listener.addr[1], sockets
  ensure
    accepting&.kill&.join
    [listener, *sockets].each(&:close)
  end

  def blind? = true

  def gem = "mysql2"

  def driver = ::Mysql2::Client

  def server_error = ::Mysql2::Error

  def url
    server = Support::MariadbServer.shared
    "mysql2://#{server.user}@#{server.host}:#{server.port}/#{server.database}"
  end
end
