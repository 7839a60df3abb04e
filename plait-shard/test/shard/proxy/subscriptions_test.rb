# frozen_string_literal: true

require_relative "nodes"

class ShardProxySubscriptionsTest < Minitest::Test
  include ShardNodes

  def test_messages
    with_proxy(threads: 2) do |proxy|
      converse(proxy.port) do |redis|
        assert_equal([event("subscribe", "a", 1), event("subscribe", "b", 2)], replies(redis, %w[SUBSCRIBE a b], 2))
        assert_equal([event("psubscribe", "n*", 3)], replies(redis, %w[PSUBSCRIBE n*], 1))
        assert_equal(":1\r\n:1\r\n:0\r\n", %w[b news other].map { |name| call(proxy.port, "PUBLISH", name, "text") }.join)
        assert_equal([array("message", "b", "text"), array("pmessage", "n*", "news", "text")], [redis.reply, redis.reply])
        assert_equal(array("pong", ""), redis.call("PING"))
        assert_equal([event("unsubscribe", "a", 2)], replies(redis, %w[UNSUBSCRIBE a], 1))
        assert_equal(%w[b], decode(call(proxy.port, "PUBSUB", "CHANNELS")))
      end
      wait_until { call(proxy.port, "PUBLISH", "b", "x") == ":0\r\n" }
    end
  end

  def test_the_way_back
    with_proxy do |proxy|
      converse(proxy.port) do |redis|
        commands = [%w[SET k v], %w[SUBSCRIBE a], %w[UNSUBSCRIBE], %w[GET k], %w[UNSUBSCRIBE x], %w[GET k], %w[MULTI],
                    %w[GET k], %w[EXEC], %w[SSUBSCRIBE s], %w[PUNSUBSCRIBE], %w[PING], %w[SUNSUBSCRIBE], %w[PING],
                    %w[BLPOP l 0.01]]
        expected = converse(plain.port) { |other| other.pipeline([%w[DEL k l], *commands]).drop(1) }
        assert_equal(expected, redis.pipeline(commands))
      end
    end
  end

  # The shard asks with a PING of its own whether the client has left. The client's own PING may have its first words.
  def test_a_ping_that_looks_like_the_shards_own
    text = "plait-shard-still-there?"
    with_proxy do |proxy|
      converse(proxy.port) do |redis|
        redis.pipeline([%w[SUBSCRIBE c], %w[UNSUBSCRIBE c]])
        redis.write(encode("PING", text) + encode("GET", "x"))
        assert_equal(["$24\r\n#{text}\r\n", "$-1\r\n"], [redis.reply, redis.reply])
      end
    end
  end

  # In the words of Redis, and nothing is done.
  def test_other_commands_of_those_who_have_subscribed
    with_proxy do |proxy|
      converse(proxy.port) do |redis|
        redis.call("SUBSCRIBE", "a")
        [%w[SET k v], %w[MULTI], %w[BLPOP k 0], %w[NONSENSE]].each do |words|
          assert_match(/\A-ERR (Can't execute '#{words[0]}': only \(P\|S\)SUBSCRIBE|unknown)/, redis.call(*words))
        end
        call(proxy.port, "PUBLISH", "a", "x")
        assert_equal(array("message", "a", "x"), redis.reply)
        assert_equal(["+OK\r\n", nil], [redis.call("QUIT"), redis.reply])
      end
      assert_equal("$-1\r\n", call(proxy.port, "GET", "k"))
    end
  end

  def test_shard_channels_belong_to_a_node_as_keys_do
    with_proxy do |proxy|
      a, b = Array.new(2) { |node| key_on(proxy, node + 1) }
      converse(proxy.port) do |redis|
        assert_match(/\A-CROSSSLOT/, redis.call("SSUBSCRIBE", a, b))
        assert_equal(event("ssubscribe", a, 1), redis.call("SSUBSCRIBE", a))
        assert_match(/\A-CROSSSLOT/, redis.call("SSUBSCRIBE", b))
        assert_match(/\A-CROSSSLOT/, redis.call("SUBSCRIBE", "plain"))
        assert_equal([":1\r\n", ":0\r\n"], [call(proxy.port, "SPUBLISH", a, "x"), call(proxy.port, "SPUBLISH", b, "x")])
        assert_equal(array("smessage", a, "x"), redis.reply)
      end
    end
  end

  def test_what_nodes_tell_of_their_keys
    with_proxy do |proxy|
      converse(proxy.port) do |redis|
        [%w[SUBSCRIBE __keyspace@0__:k], %w[PSUBSCRIBE a __keyevent*]].each do |words|
          assert_match(/\A-ERR each node tells of its own keys only/, redis.call(*words))
        end
        assert_equal("+PONG\r\n", redis.call("PING"))
      end
    end
  end

  # Each whole, in order, to each.
  def test_many_messages_of_all_sizes
    with_proxy(threads: 2) do |proxy|
      readers = Array.new(5) { converse(proxy.port).tap { |redis| redis.call("SUBSCRIBE", "c") } }
      texts = Array.new(300) { |i| "#{i}:" + ("x" * [0, 10, 3000, 70_000, 400_000][i % 5]) }
      publish = texts.map { |text| ["PUBLISH", "c", text] }
      writer = Thread.new { converse(proxy.port) { |redis| publish.each_slice(10) { |some| redis.pipeline(some) } } }
      readers.map { |redis| Thread.new { assert_equal(texts, Array.new(300) { decode(redis.reply).last }) } }.each(&:value)
      writer.value
      readers.each(&:close)
    end
  end

  def test_one_who_does_not_read_is_cut
    with_proxy(client_bytes: 4 << 20) do |proxy|
      deaf = converse(proxy.port)
      deaf.call("SUBSCRIBE", "c")
      converse(proxy.port) { |redis| wait_until { redis.call("PUBLISH", "c", "x" * 1_000_000) == ":0\r\n" } }
      deaf.close
    end
  end

  def test_the_node_dies
    servers = Array.new(2) { Support::RedisServer.start }
    with_proxy(servers) do |proxy|
      converse(proxy.port) do |redis|
        redis.call("SUBSCRIBE", "c")
        servers[0].kill
        assert_match(/\A-ERR node 127.0.0.1:#{servers[0].port} has/, redis.reply)
        assert_nil(redis.reply)
      end
      assert_match(/\A-ERR node .* can't be reached/, call(proxy.port, "SUBSCRIBE", "c"))
      assert_equal("+PONG\r\n", call(proxy.port, "PING"))
    end
  ensure
    servers&.each(&:stop)
  end

  def test_they_come_and_go
    with_proxy do |proxy|
      50.times { |i| converse(proxy.port) { |redis| redis.write(encode("SUBSCRIBE", "c") + (encode("GET", "k") * (i % 3))) } }
      wait_until { proxy.figures[:clients].zero? }
      wait_until { call(proxy.port, "PUBSUB", "NUMSUB", "c") == array("c").sub("*1", "*2") + ":0\r\n" }
    end
  end

  private

  def decode(reply) = Plait.const_get(:Protocols)::RESP.decode(reply)

  def array(*words) = encode(*words)

  def event(kind, name, count) = "#{encode(kind, name).sub("*2", "*3")}:#{count}\r\n"

  def replies(redis, words, count)
    redis.write(encode(*words))
    Array.new(count) { redis.reply }
  end
end
