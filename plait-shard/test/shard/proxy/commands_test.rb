# frozen_string_literal: true

require_relative "nodes"

class ShardProxyCommandsTest < Minitest::Test
  include ShardNodes

  OK = "+OK\r\n"

  def test_values_in_the_order_of_keys
    with_proxy do |proxy|
      converse(proxy.port) do |redis|
        pairs = Array.new(100) { |i| ["key#{i}", "value#{i}" * (i % 7 * 40)] }
        assert_equal(OK, redis.call("MSET", *pairs.flatten))
        assert_equal(pairs.map(&:last) + [nil], decode(redis.call("MGET", *pairs.map(&:first), "none")))
        pairs.each { |key, value| assert_equal(value, decode(call(nodes[proxy.placement.node_for(key)].port, "GET", key))) }
      end
    end
  end

  def test_sums
    with_proxy do |proxy|
      converse(proxy.port) do |redis|
        redis.call("MSET", *Array.new(20) { |i| ["k#{i}", "v"] }.flatten)
        keys = Array.new(25) { |i| "k#{i}" }
        assert_equal([":21\r\n", ":20\r\n"], [redis.call("EXISTS", *keys, "k0"), redis.call("TOUCH", *keys)])
        assert_equal([":20\r\n", ":10\r\n"], [redis.call("DBSIZE"), redis.call("DEL", *keys.first(10))])
        assert_equal([":10\r\n", ":0\r\n"], [redis.call("UNLINK", *keys), redis.call("DBSIZE")])
      end
    end
  end

  def test_all_nodes
    with_proxy do |proxy|
      converse(proxy.port) do |redis|
        keys = Array.new(50) { |i| "k#{i}" }
        redis.call("MSET", *keys.flat_map { |key| [key, "v"] })
        assert_equal(keys.sort, decode(redis.call("KEYS", "*")).sort)
        assert_equal([], decode(redis.call("KEYS", "x*")))
        assert_includes(keys, decode(redis.call("RANDOMKEY")))
        assert_equal([OK, nil], [redis.call("FLUSHALL"), decode(redis.call("RANDOMKEY"))])
      end
    end
  end

  def test_a_scan_covers_all_nodes
    with_proxy do |proxy|
      converse(proxy.port) do |redis|
        keys = Array.new(500) { |i| "k#{i}" }
        redis.call("MSET", *keys.flat_map { |key| [key, "v"] })
        assert_equal(keys.sort, scan(redis).uniq.sort)
        assert_equal(keys.grep(/9/).sort, scan(redis, "MATCH", "*9*", "COUNT", "30", "TYPE", "string").uniq.sort)
        assert_equal("-ERR invalid cursor\r\n", redis.call("SCAN", "x"))
        assert_match(/\A-ERR syntax error/, redis.call("SCAN", "0", "WITH"))
      end
    end
  end

  def test_answered_by_the_proxy
    with_proxy do |proxy|
      converse(proxy.port) do |redis|
        assert_equal(["+PONG\r\n", "$1\r\nx\r\n", "$3\r\na\r\n\r\n"], redis.pipeline([%w[PING], %w[ping x], %W[ECHO a\r\n]]))
        assert_equal([OK, OK, "$-1\r\n"], redis.pipeline([%w[SELECT 0], %w[CLIENT NO-EVICT on], %w[CLIENT GETNAME]]))
        assert_match(/\A-ERR SELECT/, redis.call("SELECT", "1"))
        assert_equal(2, decode(redis.call("TIME")).size)
        assert_match(/\A\*14/, redis.call("HELLO", "2"))
        assert_equal([OK, nil], [redis.call("QUIT"), redis.reply])
      end
    end
  end

  def test_several_keys_of_one_command
    with_proxy(placement: :cluster) do |proxy|
      converse(proxy.port) do |redis|
        assert_equal(":2\r\n", redis.call("SADD", "{a}1", "x", "y"))
        assert_equal(":1\r\n", redis.call("SINTERSTORE", "{a}3", "{a}1", "{a}1").then { redis.call("EXISTS", "{a}3") })
        assert_match(/\A-CROSSSLOT/, redis.call("SUNION", "a", "b", "c", "d", "e"))
        assert_match(/\A-CROSSSLOT/, redis.call("RENAME", "a", "b"))
        assert_match(/\A-CROSSSLOT/, redis.call("MSETNX", "a", "1", "b", "2"))
        assert_equal(":1\r\n", redis.call("EVAL", "return redis.call('INCR', KEYS[1])", "1", "n"))
      end
    end
  end

  def test_what_would_be_wrong_is_refused
    with_proxy do |proxy|
      converse(proxy.port) do |redis|
        [%w[MOVE k 1], %w[COPY {a}1 {a}1 DB 1], %w[SORT a BY w_*], %w[SORT a GET w_*], %w[EVAL x 0], %w[FCALL f 0 a],
         %w[MONITOR], %w[SHUTDOWN], %w[MIGRATE h 1 k 0 1]].each do |words|
          assert_match(/\A-ERR /, redis.call(*words), words.join(" "))
        end
        assert_equal("*0\r\n", redis.call("SORT", "a"))
        assert_match(/\A-NOGROUP/, redis.call("XREADGROUP", "GROUP", "block", "block", "STREAMS", "k", ">"))
        assert_equal("+PONG\r\n", redis.call("PING"))
      end
    end
  end

  def test_errors_in_the_words_of_redis
    commands = [%w[nonsense a b], %w[get], %w[set k], %w[object freqs k], %w[object encoding], ["x" * 200, "y" * 200], %w[mset a],
                %w[mget], %w[incr s], %w[lpush s x], %w[ECHO], %w[mset a b c], %W[a\r\nb], %w[object], %w[eval x], %w[eval x y z]]
    with_proxy do |proxy|
      [proxy.port, plain.port].each { |port| call(port, "SET", "s", "text") }
      replies = [proxy, plain].map { |server| converse(server.port) { |redis| redis.pipeline(commands) } }
      commands.zip(*replies) { |words, ours, theirs| assert_equal(theirs, ours, words.join(" ")) }
    end
  end

  def test_inline_commands
    with_proxy do |proxy|
      converse(proxy.port) do |redis|
        redis.write("SET k \"a b\"\r\n\r\nGET k\nMGET k a b c\r\n")
        assert_equal([OK, "$3\r\na b\r\n"], [redis.reply, redis.reply])
        assert_equal(["a b", nil, nil, nil], decode(redis.reply))
        redis.write("GET \"x\r\n")
        assert_equal("-ERR Protocol error: unbalanced quotes in request\r\n", redis.reply)
        assert_nil(redis.reply)
      end
    end
  end

  private

  def decode(reply) = Plait.const_get(:Protocols)::RESP.decode(reply)

  def scan(redis, *options)
    cursor = "0"
    found = []
    loop do
      cursor, keys = decode(redis.call("SCAN", cursor, *options))
      found.concat(keys)
      return found if cursor == "0"
    end
  end
end
