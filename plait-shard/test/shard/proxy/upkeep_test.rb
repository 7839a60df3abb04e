# frozen_string_literal: true

require_relative "nodes"

# Commands that look after servers: they go to all of them, or to the one that has the key.
class ShardProxyUpkeepTest < Minitest::Test
  include ShardNodes

  OK = "+OK\r\n"

  def test_to_all_nodes
    with_proxy(config: true) do |proxy|
      converse(proxy.port) do |redis|
        assert_equal([OK, OK, OK], redis.pipeline([%w[MEMORY PURGE], %w[SAVE], %w[CONFIG RESETSTAT]]))
        redis.call("CONFIG", "SET", "slowlog-log-slower-than", "0")
        nodes.each { |node| call(node.port, "PING") }
        assert_operator(redis.call("SLOWLOG", "LEN")[1..].to_i, :>=, nodes.size)
        none = [%w[CONFIG SET slowlog-log-slower-than -1], %w[SLOWLOG RESET], %w[SLOWLOG LEN]]
        assert_equal([OK, OK, ":0\r\n"], redis.pipeline(none))
        assert_equal(OK, redis.call("CONFIG", "SET", "slowlog-log-slower-than", "10000"))
        assert_match(/\A\+Background append only file/, redis.call("BGREWRITEAOF"))
      end
    end
  end

  # Each server tells of those only that it has had; of what all have had alike, too, the sum is told.
  def test_statistics_of_commands_are_sums
    with_proxy do |proxy|
      keys = Array.new(nodes.size) { |node| key_on(proxy, node) }
      converse(proxy.port) do |redis|
        redis.call("CONFIG", "RESETSTAT")
        redis.pipeline([*keys.map { |key| ["GET", key] }, ["INCR", keys[2]], ["SET", keys[1], "x"], ["INCR", keys[1]]])
        info = redis.call("INFO", "commandstats", "errorstats")
        assert_match(/^cmdstat_get:calls=4,usec=\d+,usec_per_call=\d+\.\d\d,rejected_calls=0,failed_calls=0\r$/, info)
        assert_match(/^cmdstat_incr:calls=2,usec=\d+,usec_per_call=\d+\.\d\d,rejected_calls=0,failed_calls=1\r$/, info)
        assert_match(/^errorstat_ERR:count=1\r$/, info)
        assert_equal(1, info.scan("cmdstat_incr:").size)
      end
    end
  end

  def test_what_servers_say_is_wrong
    with_proxy do |proxy|
      converse(proxy.port) do |redis|
        assert_equal("-ERR value is not an integer or out of range\r\n", redis.call("COPY", "{a}1", "{a}1", "DB", "x"))
        assert_match(/\A-ERR syntax error/, redis.call("SORT_RO", "a", "STORE", "bcdef"))
      end
    end
  end

  def test_functions_are_restored_everywhere
    with_proxy do |proxy|
      converse(proxy.port) do |redis|
        redis.call("FUNCTION", "LOAD", "REPLACE", "#!lua name=one\nredis.register_function('one', function() return 1 end)")
        dump = Plait.const_get(:Protocols)::RESP.decode(redis.call("FUNCTION", "DUMP"))
        assert_equal([OK, OK], redis.pipeline([%w[FUNCTION FLUSH], ["FUNCTION", "RESTORE", dump]]))
        nodes.each { |node| assert_equal(":1\r\n", call(node.port, "FCALL", "one", "0")) }
        assert_equal(OK, redis.call("FUNCTION", "FLUSH"))
      end
    end
  end

  def test_what_is_asked_of_users
    with_proxy do |proxy|
      [%w[ACL SETUSER ada on], %w[ACL DELUSER ada]].each do |words|
        assert_match(/\A-ERR this changes all nodes/, call(proxy.port, *words))
      end
    end
    with_proxy(config: true) do |proxy|
      converse(proxy.port) do |redis|
        assert_equal("$7\r\ndefault\r\n", redis.call("ACL", "WHOAMI"))
        assert_match(/\A\*1\r\n\$\d+\r\nuser default on/, redis.call("ACL", "LIST"))
        assert_equal(OK, redis.call("ACL", "SETUSER", "ada"))
        assert_equal(":1\r\n", call(nodes[0].port, "ACL", "DELUSER", "ada"))
        assert_equal([":1\r\n", ":0\r\n"], redis.pipeline([%w[ACL DELUSER ada eve], %w[ACL DELUSER ada]]))
        nodes.each { |node| assert_equal("*1\r\n$7\r\ndefault\r\n", call(node.port, "ACL", "USERS")) }
      end
    end
  end

  # As far as the servers permit it, and nothing that ends them.
  def test_debug
    servers = Array.new(2) { Support::RedisServer.start(config: { "enable-debug-command" => "yes" }) }
    with_proxy(servers) do |proxy|
      keys = [key_on(proxy, 0), key_on(proxy, 1)]
      converse(proxy.port) do |redis|
        assert_equal([OK, OK], redis.pipeline([["MSET", *keys.zip(keys).flatten], %w[DEBUG SET-ACTIVE-EXPIRE 0]]))
        keys.zip(servers) { |key, server| assert_equal(digest(server.port, key), redis.call("DEBUG", "DIGEST-VALUE", key)) }
        assert_match(/\A-CROSSSLOT/, redis.call("DEBUG", "DIGEST-VALUE", *keys))
        %w[SEGFAULT PANIC RESTART DIGEST].each { |word| assert_match(/\A-ERR unknown subcommand/, redis.call("DEBUG", word)) }
      end
    end
    assert(servers.all?(&:alive?))
  ensure
    servers&.each(&:stop)
  end

  def test_scripts_without_keys_where_it_is_said
    with_proxy(keyless_scripts: true) do |proxy|
      assert_equal(":3\r\n", call(proxy.port, "EVAL", "return 3", "0"))
      assert_match(/\A-ERR/, call(proxy.port, "FCALL", "none", "0"))
    end
    with_proxy { |proxy| assert_match(/names no key, so that it has no node/, call(proxy.port, "EVAL", "return 3", "0")) }
    assert_raises(Plait::UsageError) { Plait::Shard::Proxy.new(nodes: ["a:1"], keyless_scripts: "yes") }
  end

  private

  def digest(port, key) = call(port, "DEBUG", "DIGEST-VALUE", key)
end
