# frozen_string_literal: true

require_relative "proxy/nodes"

# Servers with replicas: what only reads goes to these, and what they can't say to their masters.
class ShardReplicasTest < Minitest::Test
  include ShardNodes

  # Two masters, each with a replica.
  class Groups
    class << self
      def servers = @servers ||= start

      def masters = servers.first(2)

      def replicas = servers.last(2)

      # As they were begun, whatever another test has done to them.
      def settle
        replicas.each { |replica| await(replica, "master_link_status:up") }
        masters.each { |master| await(master, "state=online") } # it counts no others for WAIT
      end

      private

      def start
        all = Array.new(4) { Support::RedisServer.start(config: { "repl-diskless-sync-delay" => "0" }) }
        all.last(2).zip(all.first(2)) { |replica, master| follow(replica, master) }
        all
      end

      def await(server, words)
        Support::Waiting.wait_until(timeout: 30) do
          Support::RedisConversation.open(server.port) { |redis| redis.call("INFO", "replication") }.include?(words)
        end
      end

      def follow(replica, master)
        Support::RedisConversation.open(replica.port) do |redis|
          redis.call("REPLICAOF", "127.0.0.1", master.port.to_s)
        end
      end
    end
  end

  def test_reads_go_to_replicas_and_writes_to_masters
    with_groups(reads: :replicas) do |proxy|
      converse(proxy.port) do |redis|
        fill(redis)
        before = gets
        100.times { |i| assert_equal("$1\r\nv\r\n", redis.call("GET", "key#{i % 20}")) }
        assert_equal(["v"] * 20, decode(redis.call("MGET", *keys)))
        assert_equal(":20\r\n", redis.call("EXISTS", *keys))
        assert_equal([0, 0], difference(before).first(2))
        assert_equal(100, difference(before).last(2).sum)
        assert_equal(":20\r\n", redis.call("DBSIZE"))
        assert_equal(20, decode(redis.call("KEYS", "*")).size)
      end
    end
  end

  def test_wait_tells_of_the_master_with_the_fewest_replicas
    with_groups do |proxy|
      converse(proxy.port) do |redis|
        assert_equal(["+OK\r\n", ":1\r\n"], redis.pipeline([%w[SET k v], %w[WAIT 1 30000]]))
        assert_match(/\A-ERR.*integer/, redis.call("WAIT", "1", "x"))
        assert_match(/\A-ERR/, redis.call("WAIT", "x", "1"))
        asleep(Groups.replicas.last) do
          redis.pipeline(keys.map { |key| ["SET", key, "v"] })
          assert_equal([":0\r\n", "+PONG\r\n"], redis.pipeline([%w[WAIT 1 50], %w[PING]]))
        end
        assert_equal(":1\r\n", redis.call("WAIT", "1", "30000"))
      end
    end
  end

  # For ever is not longer than a node may be silent.
  def test_wait_for_what_will_not_come
    in_growing_times(2, 20) do |seconds|
      with_groups(timeout: seconds) do |proxy|
        assert_equal(":1\r\n", call(proxy.port, "WAIT", "7", "0"))
      end
    end
  end

  def test_any_reads_from_all
    with_groups(reads: :any) do |proxy|
      converse(proxy.port) do |redis|
        fill(redis)
        before = gets
        200.times { |i| redis.call("GET", "key#{i % 20}") }
        assert_operator(difference(before).min, :>, 10)
      end
    end
  end

  def test_only_masters_are_read_from_unless_it_was_said
    with_groups do |proxy|
      converse(proxy.port) do |redis|
        fill(redis)
        before = gets
        50.times { |i| redis.call("GET", "key#{i % 20}") }
        assert_equal([0, 0], difference(before).last(2))
      end
    end
  end

  # Nothing that a transaction or a watch has to know may be out of date.
  def test_transactions_are_masters_affairs
    with_groups(reads: :replicas) do |proxy|
      converse(proxy.port) do |redis|
        replies = redis.pipeline([%w[MULTI], %w[SET t 1], %w[GET t], %w[EXEC]])
        assert_equal("*2\r\n+OK\r\n$1\r\n1\r\n", replies.last)
        assert_equal(["+OK\r\n", "$1\r\n1\r\n"], redis.pipeline([%w[WATCH t], %w[GET t]]))
      end
    end
  end

  # Those on their way included: reading again harms nobody.
  def test_a_replica_that_dies_is_not_missed
    own = Support::RedisServer.start
    master = Groups.masters.first
    call(own.port, "REPLICAOF", "127.0.0.1", master.port.to_s)
    Support::Waiting.wait_until(timeout: 30) { call(own.port, "INFO", "replication").include?("master_link_status:up") }
    nodes = [{ master: "127.0.0.1:#{master.port}", replicas: ["127.0.0.1:#{own.port}"] }]
    Plait::Shard::Proxy.open(nodes: nodes, listen: "127.0.0.1:0", reads: :replicas, retry: 0.2) do |proxy|
      converse(proxy.port) do |redis|
        redis.call("SET", "k", "v")
        Support::Waiting.wait_until { redis.call("GET", "k") == "$1\r\nv\r\n" }
        own.signal(:STOP)
        redis.write(encode("GET", "k") * 50)
        own.kill
        50.times { assert_equal("$1\r\nv\r\n", redis.reply) }
        100.times { assert_equal("$1\r\nv\r\n", redis.call("GET", "k")) }
      end
    end
  ensure
    own&.signal(:CONT) if own&.pid
    own&.stop
  end

  # It serves no reads, and says so.
  def test_a_replica_that_is_not_ready
    own = Support::RedisServer.start(config: { "replica-serve-stale-data" => "no" })
    master = Groups.masters.first
    call(own.port, "REPLICAOF", "127.0.0.1", CLOSED.to_s)
    nodes = [{ master: "127.0.0.1:#{master.port}", replicas: ["127.0.0.1:#{own.port}"] }]
    Plait::Shard::Proxy.open(nodes: nodes, listen: "127.0.0.1:0", reads: :replicas) do |proxy|
      assert_equal("+OK\r\n", call(proxy.port, "SET", "k", "v"))
      assert_match(/\A-MASTERDOWN/, call(own.port, "GET", "k"))
      converse(proxy.port) { |redis| 20.times { assert_equal("$1\r\nv\r\n", redis.call("GET", "k")) } }
      assert_operator(proxy.figures[:redirections], :>=, 20)
    end
  ensure
    own&.stop
  end

  def test_nodes_are_told_with_their_replicas
    with_groups(reads: :replicas) do |proxy|
      assert_equal(addresses(Groups.servers), proxy.nodes.map { |node| node[:address] })
    end
  end

  def test_a_wrong_word = assert_raises(Plait::UsageError) { Plait::Shard::Proxy.new(nodes: addresses, reads: :slaves) }

  private

  def with_groups(**options, &block)
    Groups.settle
    Groups.masters.each { |server| call(server.port, "FLUSHALL") }
    groups = Groups.masters.zip(Groups.replicas).map do |master, replica|
      { master: "127.0.0.1:#{master.port}", replicas: ["127.0.0.1:#{replica.port}"] }
    end
    Plait::Shard::Proxy.open(nodes: groups, listen: "127.0.0.1:0", **options, &block)
  end

  def asleep(server)
    server.signal(:STOP)
    yield
  ensure
    server.signal(:CONT)
  end

  def keys = Array.new(20) { |i| "key#{i}" }

  def fill(redis)
    redis.call("MSET", *keys.flat_map { |key| [key, "v"] })
    Support::Waiting.wait_until(timeout: 30) { Groups.replicas.sum { |server| decode(call(server.port, "DBSIZE")) } == 20 }
  end

  def gets = Groups.servers.map { |server| call(server.port, "INFO", "commandstats")[/cmdstat_get:calls=(\d+)/, 1].to_i }

  def difference(before) = gets.zip(before).map { |now, former| now - former }

  def decode(reply) = Plait.const_get(:Protocols)::RESP.decode(reply)
end
