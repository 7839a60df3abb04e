# frozen_string_literal: true

require "support/redis_sentinel"
require_relative "proxy/fake_nodes"
require_relative "proxy/nodes"

# Masters whom Sentinels know by name, and replace.
class ShardSentinelsTest < Minitest::Test
  include ShardNodes
  include FakeNodes

  def hard_timeout = 300

  def test_masters_are_found_by_name_and_followed
    with_sentinels do |sentinels, masters, replicas|
      with_sentinel_proxy(sentinels) do |proxy|
        assert_equal(addresses(masters), proxy.placement.nodes.map(&:to_s))
        converse(proxy.port) do |redis|
          keys = Array.new(2) { |node| key_on(proxy, node) }
          keys.each { |key| assert_equal("+OK\r\n", redis.call("SET", key, "before")) }
          call_and_wait(masters.first)
          masters.first.kill
          soon = %w[down-after-milliseconds 700 failover-timeout 3000]
          assert_equal("+OK\r\n", call(sentinels.first.port, "SENTINEL", "set", "first", *soon))
          replies = until_taken(redis, keys)
          assert_equal(["+OK\r\n"], replies.last.uniq)
          assert(replies.first.all? { |reply| reply.match?(/\A(\+OK|-ERR node )/) }, replies.first.uniq.inspect)
          assert_includes(proxy.placement.nodes.map(&:to_s), addresses(replicas).first)
          assert_equal("$5\r\nafter\r\n", redis.call("GET", keys.first))
          assert_equal(":2\r\n", redis.call("DBSIZE"))
        end
      end
    end
  end

  # The former master is there and answers -READONLY: nobody hears of that.
  def test_a_failover_that_was_asked_for
    with_sentinels do |sentinels, masters, replicas|
      with_sentinel_proxy(sentinels) do |proxy|
        converse(proxy.port) do |redis|
          key = key_on(proxy, 0)
          call_and_wait(masters.first)
          Support::Waiting.wait_until(timeout: 60) { call(sentinels.first.port, "SENTINEL", "failover", "first") == "+OK\r\n" }
          Support::Waiting.wait_until(timeout: 60) do
            assert_match(/\A(\+OK|-ERR node )/, redis.call("SET", key, "v"))
            proxy.placement.nodes.first.port == replicas.first.port
          end
          20.times { assert_equal("+OK\r\n", redis.call("SET", key, "x")) }
          assert_equal("$1\r\nx\r\n", call(replicas.first.port, "GET", key))
        end
      end
    end
  end

  # What the former master refuses, in transactions too, waits for the new one.
  def test_a_master_that_is_none_any_longer
    former = Support::RedisServer.start
    in_growing_times(1, 2, 3) do # it waits for two seconds, which a busy machine exceeds
      call(plain.port, "FLUSHALL")
      follow(former, plain)
      told = former.port
      sentinel = fake_sentinel { told }
      Plait::Shard::Proxy.open(sentinels: ["127.0.0.1:#{sentinel.port}"], masters: ["m"], listen: "127.0.0.1:0") do |proxy|
        converse(proxy.port) do |redis|
          assert_equal("$-1\r\n", redis.call("GET", "k"))
          redis.write([%w[SET k 1], %w[INCR k], %w[MULTI], %w[INCR k], %w[EXEC], %w[INCR k]].map { |words| encode(*words) }.join)
          Support::Waiting.wait_until { proxy.figures[:redirections] >= 2 }
          told = plain.port
          assert_equal(["+OK\r\n", ":2\r\n", "+OK\r\n", "+QUEUED\r\n", "*1\r\n:3\r\n", ":4\r\n"], Array.new(6) { redis.reply })
        end
      end
    end
  ensure
    former&.stop
  end

  # It is given up in the end.
  def test_a_replica_that_nobody_replaces
    replica = Support::RedisServer.start
    follow(replica, plain)
    sentinel = fake_sentinel { replica.port }
    Plait::Shard::Proxy.open(sentinels: ["127.0.0.1:#{sentinel.port}"], masters: ["m"], listen: "127.0.0.1:0") do |proxy|
      assert_match(/\A-READONLY/, call(proxy.port, "SET", "k", "v"))
      assert_equal("+PONG\r\n", call(proxy.port, "PING"))
    end
  ensure
    replica&.stop
  end

  def test_replicas_are_found_too
    with_sentinels do |sentinels, _, replicas|
      await_replicas(sentinels, replicas)
      with_sentinel_proxy(sentinels, reads: :replicas) do |proxy|
        assert_equal(4, proxy.nodes.size)
        converse(proxy.port) do |redis|
          redis.call("SET", "k", "v")
          Support::Waiting.wait_until { redis.call("GET", "k") == "$1\r\nv\r\n" }
        end
        assert(replicas.any? { |server| call(server.port, "INFO", "commandstats").include?("cmdstat_get:") })
      end
    end
  end

  def test_a_name_that_they_do_not_know_and_sentinels_that_are_not_there
    sentinel = Support::RedisSentinel.start(masters: { "first" => plain })
    error = assert_raises(Plait::UsageError) { with_sentinel_proxy([sentinel], masters: %w[other]) { flunk } }
    assert_match(/no master called other/, error.message)
    gone = ["127.0.0.1:#{CLOSED}"]
    assert_raises(Plait::ConnectError) { Plait::Shard::Proxy.new(sentinels: gone, masters: ["a"], listen: "127.0.0.1:0").start }
    Plait::Shard::Proxy.open(sentinels: gone + addresses([sentinel]), masters: ["first"], listen: "127.0.0.1:0") do |proxy|
      assert_equal(plain.port, proxy.placement.nodes.first.port)
    end
    [{ sentinels: gone }, { nodes: gone, masters: ["a"] }].each do |wrong|
      assert_raises(Plait::UsageError) { Plait::Shard::Proxy.new(**wrong) }
    end
  ensure
    sentinel&.stop
  end

  private

  # @yieldreturn [Integer] the master's port
  def fake_sentinel
    fake_node do |socket|
      scanner = Plait.const_get(:Protocols)::RESP::ReplyScanner.new
      loop do
        scanner.feed(socket.readpartial(1 << 16)) until scanner.next_event
        words = decode(scanner.bytes)
        socket.write(answer_of_sentinel(words, yield))
      end
    end
  end

  def answer_of_sentinel(words, port)
    return "*0\r\n" if words[1] == "replicas"
    return encode("subscribe", words[1]).sub("*2", "*3") + ":1\r\n" if words[0] == "SUBSCRIBE"

    encode("127.0.0.1", port.to_s)
  end

  def decode(reply) = Plait.const_get(:Protocols)::RESP.decode(reply)

  # Two groups of a master and a replica, and a Sentinel.
  def with_sentinels
    servers = Array.new(4) { Support::RedisServer.start(config: { "repl-diskless-sync-delay" => "0" }) }
    masters, replicas = servers.each_slice(2).to_a
    replicas.zip(masters) { |replica, master| follow(replica, master) }
    sentinel = Support::RedisSentinel.start(masters: { "first" => masters[0], "second" => masters[1] })
    await_replicas([sentinel], replicas)
    yield [sentinel], masters, replicas
  ensure
    [sentinel, *servers].compact.each(&:stop)
  end

  def follow(replica, master)
    call(replica.port, "REPLICAOF", "127.0.0.1", master.port.to_s)
    Support::Waiting.wait_until(timeout: 30) { call(replica.port, "INFO", "replication").include?("master_link_status:up") }
  end

  def await_replicas(sentinels, replicas)
    names = %w[first second].zip(replicas)
    Support::Waiting.wait_until(timeout: 60) do
      names.all? do |name, replica|
        reply = call(sentinels.first.port, "SENTINEL", "replicas", name)
        reply.include?("\r\n#{replica.port}\r\n") && reply.include?("master-link-status\r\n$2\r\nok")
      end
    end
  end

  def with_sentinel_proxy(sentinels, masters: %w[first second], **options, &block)
    named = { sentinels: addresses(sentinels), masters: masters }
    Plait::Shard::Proxy.open(**named, listen: "127.0.0.1:0", retry: 0.1, **options, &block)
  end

  # What was written has reached the replica.
  def call_and_wait(server) = converse(server.port) { |redis| redis.pipeline([%w[PING], %w[WAIT 1 30000]]) }

  # @return [Array<Array<String>>] what the keys were answered, of the node that was killed and of the other
  def until_taken(redis, keys)
    replies = [[], []]
    Support::Waiting.wait_until(timeout: 60) do
      keys.zip(replies) { |key, own| own << redis.call("SET", key, "after") }
      replies.first.last == "+OK\r\n" && replies.first.size > 5
    end
    replies
  end
end
