# frozen_string_literal: true

require_relative "clusters"
require_relative "../proxy/same_replies"

# Clients that know nothing of clusters, before one.
class ShardClusterCommandsTest < Minitest::Test
  include Clusters
  include SameReplies

  ROUNDS = Integer(ENV.fetch("PLAIT_ROUNDS", "100"))
  SEED = Integer(ENV.fetch("PLAIT_SEED", "51"))
  KEYS = Array.new(100) { |i| "key#{i}" }.freeze

  def test_keys_of_many_slots_in_one_command
    with_cluster_proxy do |proxy|
      converse(proxy.port) do |redis|
        assert_equal("+OK\r\n", redis.call("MSET", *KEYS.flat_map { |key| [key, "value of #{key}"] }))
        wanted = [*KEYS.reverse, "none", KEYS.first, KEYS.first]
        right = [*KEYS.reverse.map { |key| "value of #{key}" }, nil, *(["value of key0"] * 2)]
        assert_equal(right, decode(redis.call("MGET", *wanted)))
        assert_equal(":100\r\n", redis.call("EXISTS", *KEYS))
        assert_equal(":100\r\n", redis.call("DBSIZE"))
        assert_equal(KEYS.sort, decode(redis.call("KEYS", "*")).sort)
        assert_equal(KEYS.sort, scan(redis).sort)
        assert_equal(":60\r\n", redis.call("DEL", *KEYS.first(60), "none"))
        assert_equal(":40\r\n", redis.call("UNLINK", *KEYS))
      end
    end
  end

  def test_a_large_mset_that_goes_on_its_way_while_it_arrives
    with_cluster_proxy do |proxy|
      pairs = Array.new(3000) { |i| ["large#{i}", "#{i}:" * 50] }
      assert_equal("+OK\r\n", call(proxy.port, "MSET", *pairs.flatten))
      assert_equal(pairs.map(&:last), decode(call(proxy.port, "MGET", *pairs.map(&:first))))
      assert_equal(":3000\r\n", call(proxy.port, "DBSIZE"))
    end
  end

  # As when a cluster has just been begun.
  def test_what_is_asked_of_all_keys_while_slots_are_of_nobody
    Support::RedisCluster.start(masters: 1) do |own|
      own.call(own.masters.first, "CLUSTER", "DELSLOTSRANGE", "0", "99")
      Plait::Shard::Proxy.open(cluster: own.addresses, listen: "127.0.0.1:0") do |proxy|
        [%w[DBSIZE], %w[KEYS *], %w[SCAN 0], %w[FLUSHALL]].each do |words|
          assert_match(/\A-CLUSTERDOWN .*not be whole/, call(proxy.port, *words), words.join(" "))
        end
        own.call(own.masters.first, "CLUSTER", "ADDSLOTSRANGE", "0", "99")
        await { call(proxy.port, "DBSIZE") == ":0\r\n" }
      end
    end
  end

  def test_keys_of_other_slots_are_refused_where_the_answer_could_not_be_right
    with_cluster_proxy do |proxy|
      converse(proxy.port) do |redis|
        assert_match(/\A-CROSSSLOT .*one slot\)/, redis.call("SUNION", "a", "b"))
        assert_equal("*0\r\n", redis.call("SUNION", "{a}1", "{a}2"))
        assert_match(/\A-CROSSSLOT/, redis.call("RENAME", "a", "b"))
      end
    end
  end

  def test_a_transaction_is_of_one_slot_even_where_two_are_on_one_node
    with_cluster_proxy do |proxy|
      other = KEYS.find { |key| same_node?("a", key) }
      converse(proxy.port) do |redis|
        assert_equal(["+OK\r\n", "+QUEUED\r\n", "+QUEUED\r\n", "*2\r\n+OK\r\n:2\r\n"],
                     redis.pipeline([%w[MULTI], %w[SET a 1], %w[INCR a], %w[EXEC]]))
        replies = redis.pipeline([%w[MULTI], %w[SET a 5], ["SET", other, "5"], %w[EXEC]])
        assert_match(/\A-CROSSSLOT/, replies[2])
        assert_match(/\A-EXECABORT/, replies[3])
        assert_equal("$1\r\n2\r\n", redis.call("GET", "a"))
      end
    end
  end

  def test_a_cursor_of_another_cluster
    with_cluster_proxy do |proxy|
      assert_match(/\A-ERR the nodes have changed/, call(proxy.port, "SCAN", "1"))
    end
  end

  def test_waiting_watching_and_subscribing
    with_cluster_proxy do |proxy|
      converse(proxy.port) do |waiting|
        waiting.write(encode("BLPOP", "list", "10"))
        assert_equal(":1\r\n", call(proxy.port, "RPUSH", "list", "x"))
        assert_equal(%w[list x], decode(waiting.reply))
      end
      converse(proxy.port) do |redis|
        assert_equal("+OK\r\n", redis.call("WATCH", "a"))
        call(proxy.port, "SET", "a", "other")
        assert_equal(["+OK\r\n", "+QUEUED\r\n", "*-1\r\n"], redis.pipeline([%w[MULTI], %w[SET a mine], %w[EXEC]]))
      end
    end
  end

  def test_channels_are_of_all_and_those_of_a_slot_of_its_node
    with_cluster_proxy do |proxy|
      converse(proxy.port) do |redis|
        assert_equal(["subscribe", "c", 1], decode(redis.call("SUBSCRIBE", "c")))
        await { decode(call(proxy.port, "PUBLISH", "c", "text")) == 1 }
        assert_equal(%w[message c text], decode(redis.reply))
      end
      converse(proxy.port) do |redis|
        assert_equal(["ssubscribe", "s", 1], decode(redis.call("SSUBSCRIBE", "s")))
        assert_equal(":1\r\n", call(proxy.port, "SPUBLISH", "s", "text"))
        assert_equal(%w[smessage s text], decode(redis.reply))
      end
    end
  end

  def test_random_commands_are_answered_as_one_server_does
    call(plain.port, "FLUSHALL")
    with_cluster_proxy(threads: 2) do |proxy|
      Array.new(3) do |number|
        Thread.new { assert_same_rounds(proxy, RandomCommands.new(SEED + number, prefix: "#{number}:"), ROUNDS / 3) }
      end.each(&:value)
    end
  end

  def test_what_is_no_cluster_and_what_is_nobody
    error = assert_raises(Plait::RemoteError) { Plait::Shard::Proxy.new(cluster: addresses([plain]), listen: "127.0.0.1:0").start }
    assert_match(/cluster support disabled/, error.message)
    assert_raises(Plait::ConnectError) { Plait::Shard::Proxy.new(cluster: ["127.0.0.1:#{CLOSED}"], listen: "127.0.0.1:0").start }
    assert_raises(Plait::UsageError) { Plait::Shard::Proxy.new(cluster: ["a:1"], nodes: ["a:1"]) }
    assert_raises(Plait::UsageError) { Plait::Shard::Proxy.new(cluster: ["a:1"], placement: :twemproxy) }
    assert_raises(Plait::UsageError) { Plait::Shard::Proxy.new(cluster: []) }
  end

  def test_nothing_is_left_behind
    cluster
    assert_no_leaks { with_cluster_proxy { |proxy| call(proxy.port, "SET", "k", "v") } }
  end

  def test_reload_and_reshard
    with_cluster_proxy do |proxy|
      converse(proxy.port) do |redis|
        redis.call("SET", "k", "v")
        assert(proxy.reload(cluster: cluster.addresses.last(1), slow: 1))
        assert_equal("$1\r\nv\r\n", redis.call("GET", "k"))
        assert_equal("$1\r\nv\r\n", call(proxy.port, "GET", "k"))
      end
      assert_raises(Plait::UsageError) { proxy.reshard(nodes: addresses([plain])) }
    end
  end

  private

  def same_node?(one, other)
    slots = [one, other].map { |key| cluster.slot_of(key) }
    slots.uniq.size == 2 && slots.map { |slot| cluster.owner(slot) }.uniq.size == 1
  end

  def scan(redis)
    keys = []
    cursor = "0"
    loop do
      cursor, some = decode(redis.call("SCAN", cursor, "COUNT", "7"))
      keys.concat(some)
      return keys if cursor == "0"
    end
  end
end
