# frozen_string_literal: true

# It measures time:
# bin/test: alone

require "test_helper"
require "support/scheduler_cases"
require "support/mariadb_server"
require "support/postgres_server"
require "support/redis_server"

# The drivers of databases, unmodified, against real servers.
class SchedulerDriversTest < Minitest::Test
  include SchedulerCases
  include SchedulerCases::Together

  # By itself the server looks only ten times a second whether a BLPOP's time is over.
  def test_redis_client
    driver("redis_client")
    Support::RedisServer.start(config: { "hz" => "500" }) do |server|
      [{ url: server.url }, { path: server.socket_path }].each do |address|
        setup = ->(_) { RedisClient.new(**address, timeout: 60).tap { |client| client.call("PING") } }
        assert_together(setup: setup, teardown: :close, value: nil) do |client|
          client.blocking_call(5, "BLPOP", "none", ONE)
        end
      end
    end
  end

  def test_pg
    driver("pg")
    server = Support::PostgresServer.shared
    setup = ->(_) { PG.connect(server.url) }
    assert_together(setup: setup, teardown: :close, value: "42") do |connection|
      connection.exec("SELECT 42 FROM pg_sleep(#{ONE})").getvalue(0, 0)
    end
    assert_together(setup: setup, teardown: :close, value: "42") do |connection|
      connection.exec_params("SELECT $1::int FROM pg_sleep($2)", [42, ONE]).getvalue(0, 0)
    end
  end

  def test_trilogy
    driver("trilogy")
    server = Support::MariadbServer.shared
    setup = ->(_) { Trilogy.new(host: server.host, port: server.port, username: server.user) }
    assert_together(setup: setup, teardown: :close, value: [0]) do |connection|
      connection.query("SELECT SLEEP(#{ONE})").rows.first
    end
  end

  def test_mysql2
    driver("mysql2")
    server = Support::MariadbServer.shared
    setup = ->(_) { Mysql2::Client.new(host: server.host, port: server.port, username: server.user) }
    assert_together(setup: setup, teardown: :close, value: [0]) do |client|
      client.query("SELECT SLEEP(#{ONE})", as: :array).first
    end
  end

  # With a timeout of the driver's own, and connecting in the fiber.
  def test_many_queries_of_many_fibers
    { "redis_client" => :redis, "pg" => :postgres, "trilogy" => :trilogy, "mysql2" => :mysql2 }.each do |name, ask|
      driver(name)
      connect = method(:"connect_to_#{ask}")
      answers = in_fiber do
        20.times.map { |i| Thread::Queue.new.tap { |q| Fiber.schedule { q << ask_often(connect, i) } } }.map(&:pop)
      end
      assert_equal(Array.new(20) { |i| Array.new(10) { |k| ((i * 10) + k).to_s } }, answers, name)
    end
  end

  # The caller's timeout ends a query, and the next one on a new connection works.
  def test_a_timeout_ends_a_query
    { "pg" => "SELECT pg_sleep(30)", "trilogy" => "SELECT SLEEP(30)", "mysql2" => "SELECT SLEEP(30)" }.each do |name, sql|
      driver(name)
      connect = method(:"connect_to_#{name.sub("pg", "postgres")}")
      connect.call.then { |_, close| close.call } # started, outside of the clock
      in_fiber do
        ask, close = connect.call
        assert_raises(Plait::TimeoutError, name) { Plait.timeout(0.1) { ask.call(sql) } }
        close.call
        ask, close = connect.call
        assert_equal("7", ask.call("SELECT 7"))
        close.call
      end
    end
  end

  private

  def driver(name)
    require name
  rescue LoadError
    skip("the gem #{name.tr("_", "-")} is not installed: bin/setup test drivers")
  end

  def ask_often(connect, number)
    ask, close = connect.call
    Array.new(10) { |k| ask.call("SELECT #{(number * 10) + k}") }
  ensure
    close&.call
  end

  def connect_to_redis
    client = RedisClient.new(url: Support::RedisServer.shared.url, timeout: 60)
    [->(text) { client.call("ECHO", text.delete_prefix("SELECT ")) }, client.method(:close)]
  end

  def connect_to_postgres
    connection = PG.connect(Support::PostgresServer.shared.url)
    [->(sql) { connection.exec(sql).getvalue(0, 0) }, connection.method(:close)]
  end

  def connect_to_trilogy
    server = Support::MariadbServer.shared
    connection = Trilogy.new(host: server.host, port: server.port, username: server.user, read_timeout: 60)
    [->(sql) { connection.query(sql).rows.first.first.to_s }, connection.method(:close)]
  end

  def connect_to_mysql2
    server = Support::MariadbServer.shared
    client = Mysql2::Client.new(host: server.host, port: server.port, username: server.user, read_timeout: 60)
    [->(sql) { client.query(sql, as: :array).first.first.to_s }, client.method(:close)]
  end
end
