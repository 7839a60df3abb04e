# frozen_string_literal: true

require "test_helper"
require "support/fresh_ruby"
require "support/redis_server"
require "plait/db"

class DBRedisTest < Minitest::Test
  def setup
    require "redis_client"
    @db = Plait::DB.connect(Support::RedisServer.shared.url, size: 4, read_timeout: 60)
    @db.query("FLUSHDB")
  rescue LoadError
    skip("the gem redis-client is not installed: bin/setup test drivers")
  end

  def teardown
    @db&.close
  end

  attr_reader :db

  def self.under_each(name, &block)
    %i[threads fibers].each do |on|
      define_method(:"test_#{name}_on_#{on}") do
        Plait.run(on: on) { instance_exec(on, &block) }
      end
    end
  end

  under_each("commands") do
    assert_equal("OK", db.query("SET", "a", 1))
    assert_equal("1", db.query("GET", "a"))
    assert_equal("1", db.execute("GET", "a"))
    assert_raises(RedisClient::WrongTypeError) { db.query("LPUSH", "a", 2) }
    assert_equal("1", db.with { |client| client.call("GET", "a") })
    db.with { |client| assert_kind_of(RedisClient, client) }
    assert_equal([1, 0], db.statistics.values_at(:idle, :busy))
  end

  class Late < StandardError; end

  # The check of the connection is what waits there.
  %i[threads fibers].each do |on|
    define_method(:"test_a_time_of_the_callers_on_a_server_that_is_paused_on_#{on}") do
      server = Support::RedisServer.shared
      Plait::DB.connect(server.url, size: 1, check_after: 0, read_timeout: 60) do |database|
        database.query("PING")
        Process.kill(:STOP, server.pid)
        Plait.run(on: on) { assert_raises(Late) { Timeout.timeout(0.3, Late) { database.query("PING") } } }
      ensure
        Process.kill(:CONT, server.pid)
      end
    end
  end

  under_each("a_transaction") do
    assert_equal([1, 2], db.transaction { |tx| 2.times { tx.query("INCR", "n") } })
    assert_raises(KeyError) { db.transaction { |tx| tx.query("INCR", "n") || raise(KeyError) } }
    catch(:out) { db.transaction { |tx| tx.query("INCR", "n") || throw(:out) } }
    assert_equal("2", db.query("GET", "n"))
  end

  # The client connects when it has collected the commands.
  under_each("a_timeout_before_a_transaction_is_sent_is_a_rollback") do |on|
    silent = TCPServer.new("127.0.0.1", 0)
    one = Plait::DB.connect("redis://127.0.0.1:#{silent.addr[1]}/0", size: 1, timeout: 60)
    outcome = Plait.map([1], on: on, timeout: 0.3, on_error: :collect) { one.transaction { |tx| tx.query("INCR", "n") } }.first
    assert_instance_of(Plait::TimeoutError, outcome.error)
  ensure
    one&.close
    silent&.close
  end

  # EXEC was sent.
  under_each("a_timeout_of_a_transaction_is_no_rollback") do |on|
    slow = Class.new(Plait::DB::Redis) do
      define_method(:connect) do
        super().tap { |client| client.define_singleton_method(:multi) { |&all| super(&all).tap { sleep } } }
      end
      private :connect
    end
    one = Plait::DB::Database.new(slow, Plait::DB.const_get(:Address).parse(Support::RedisServer.shared.url), { size: 1 })
    outcome = Plait.map([1], on: on, timeout: 0.3, retries: 30, on_error: :collect) do
      one.transaction { |tx| tx.query("INCR", "n") }
    end.first
    assert_instance_of(Plait::DB::CommitUnknown, outcome.error)
    wait_until { db.query("GET", "n") == "1" } # a busy machine cuts EXEC itself
    assert_raises(KeyError) { one.transaction { |tx| tx.query("INCR", "n") || raise(KeyError) } }
  ensure
    one&.close
  end

  under_each("a_transaction_takes_all_commands") do
    assert_raises(Plait::UsageError) { db.transaction { |_tx| db.query("SET", "outside", 1) } }
    assert_nil(db.query("GET", "outside"))
    assert_raises(RedisClient::CommandError) do
      db.transaction do |tx|
        tx.query("SET", "done", 1)
        tx.query("LPUSH", "done", 1)
      end
    end
    assert_equal("1", db.query("GET", "done")) # Redis undoes nothing
  end

  # The next one would get "QUEUED" for an answer, or another database.
  under_each("what_a_block_leaves_is_nobody_elses") do
    [["MULTI"], ["SELECT", 3], ["WATCH", "a"]].each do |command|
      assert_raises(Plait::UsageError) { db.query(*command) }
      db.with { |client| client.call(*command) }
      assert_equal("OK", db.query("SET", "a", 1))
      db.with { |client| client.pipelined { |pipeline| pipeline.call(*command) } && break }
      assert_equal("OK", db.query("SET", "a", 1))
    end
    4.times { assert_equal("1", db.query("GET", "a")) }
    before = db.statistics[:connected]
    db.with { |client| client.multi(watch: ["a"]) { |multi| multi.call("INCR", "a") } }
    assert_equal("2", db.query("GET", "a"))
    assert_equal(before, db.statistics[:connected])
  end

  under_each("another_database_that_a_transaction_selects_is_nobody_elses") do
    url = Support::RedisServer.shared.url.delete_suffix("/0")
    [db, Plait::DB.connect(url, size: 4, protocol: 2)].each do |database|
      database.query("SET", "a", 1)
      database.transaction { |tx| tx.query("SELECT", 5) }
      assert_equal("1", database.query("GET", "a"))
      database.with { |client| client.multi { |multi| multi.call("select", 5) } }
      assert_equal("1", database.query("GET", "a"))
      database.with { |client| client.pipelined { |pipeline| pipeline.call("SELECT", 5) } }
      assert_equal("1", database.query("GET", "a"))
      before = database.statistics[:connected]
      assert_equal(["2"], database.transaction { |tx| tx.query("INCRBYFLOAT", "a", 1) })
      assert_equal(before, database.statistics[:connected], "a usual transaction costs no connection")
    ensure
      database.close
    end
  end

  under_each("a_wrong_value_costs_no_connection") do
    db.query("PING")
    3.times { assert_raises(TypeError) { db.query("SET", "a", nil) } }
    assert_equal(1, db.statistics[:connected])
  end

  under_each("a_stream") do
    db.query("MSET", *(1..1200).flat_map { |n| ["k#{n}", n] })
    keys = []
    db.stream("SCAN", "MATCH", "k*") { |key| keys << key }
    assert_equal((1..1200).map { |n| "k#{n}" }.sort, keys.uniq.sort)
    db.query("HSET", "h", "a", 1, "b", 2)
    pairs = {}
    db.stream("HSCAN", "h") { |field, value| pairs[field] = [value, db.query("GET", "k1")] }
    assert_equal({ "a" => %w[1 1], "b" => %w[2 1] }, pairs)
    assert_raises(Plait::UsageError) { db.stream("KEYS", "*") { flunk } }
  end

  under_each("a_command_that_is_cut") do
    3.times { assert_raises(Plait::TimeoutError) { Plait.timeout(0.05) { db.query("BLPOP", "none", 30) } } }
    assert_equal("PONG", db.query("PING"))
    wait_until { db.query("INFO", "clients").include?("blocked_clients:0") }
    db.query("RPUSH", "none", "x")
    assert_equal("x", db.query("LPOP", "none"))
  end

  under_each("two_on_one_connection_is_an_error") do |on|
    errors = db.with do |client|
      Plait.map(1..4, on: on, on_error: :collect) { client.call("BLPOP", "none", 0.2) }.filter_map(&:error)
    end
    refute_empty(errors)
    errors.each { |error| assert_kind_of(Plait::DB::ConnectionInUse, error) }
  end

  under_each("no_answer_is_anybody_elses") do |on|
    random = Random.new(8)
    wrong = Queue.new
    items = Array.new(200) { |n| [n, random.rand(0.0005..0.01)] }
    Plait.map(items, on: on, limit: 12, on_error: :collect) do |n, limit|
      answer = Plait.timeout(limit) do
        db.query("BLPOP", "none", 0.004) if n.even?
        db.query("ECHO", n)
      end
      wrong << n if answer != n.to_s
    end
    assert_equal(0, wrong.size)
    assert_equal([0, 0], db.statistics.values_at(:busy, :waiting))
  end

  def test_a_server_that_stands_still
    server = Support::RedisServer.shared
    server.signal(:STOP)
    wait_until { File.read("/proc/#{server.pid}/stat")[/(?<=\) )./] == "T" } if File.directory?("/proc/self")
    %i[threads fibers].each do |on|
      assert_raises(Plait::TimeoutError) { Plait.run(on: on) { Plait.timeout(0.2) { db.query("ECHO", "late") } } }
    end
    server.signal(:CONT)
    assert_equal((1..20).map(&:to_s), Plait.map(1..20, on: :fibers) { |n| db.query("ECHO", n) })
  ensure
    server&.signal(:CONT)
  end

  def test_a_fork_has_connections_of_its_own
    result = Support::FreshRuby.run(<<~RUBY, Support::RedisServer.shared.url)
      require "plait"
      Plait::DB.connect(ARGV[0]) do |db|
        id = -> { db.query("CLIENT", "ID") }
        mine = id.call
        Process.wait(fork { print(id.call != mine) })
        print(id.call == mine)
      end
    RUBY
    assert_equal("truetrue", result.out, result.err)
  end

  def test_a_server_that_is_gone
    Support::RedisServer.start do |server|
      Plait::DB.connect(server.url) do |mine|
        assert_equal("PONG", mine.query("PING"))
        server.restart(:KILL) { assert_raises(RedisClient::ConnectionError) { mine.query("PING") } }
        assert_equal("PONG", mine.query("PING"))
      end
    end
  end
end
