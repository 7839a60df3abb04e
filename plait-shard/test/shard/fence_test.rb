# frozen_string_literal: true

require_relative "proxy/nodes"

# Two proxies before the same nodes, of which one moves keys.
class ShardFenceTest < Minitest::Test
  include ShardNodes

  BARRED = /\A-ERR node \S+ refuses the shard: PLAITMOVED keys were moved by the proxy on .+, process #{Process.pid}, \d{4}-/
  ENDED = /\A-ERR node .*(PLAITMOVED|closed the connection|broken|not tried again)/

  def setup
    super
    nodes.each { |server| call(server.port, "FLUSHALL") }
  end

  def teardown
    nodes.each { |server| call(server.port, "FLUSHALL") } if Plait.const_defined?(:NativeShard)
    super
  end

  # The other one has no file that says the same.
  def test_a_reshard_names_the_proxy_that_would_not_follow
    with_two do |proxy, _other|
      error = assert_raises(Plait::UsageError) { proxy.reshard(nodes: addresses) }
      assert_match(/\Athe proxy on .+, process #{Process.pid} is alive and would not follow/, error.message)
      assert_equal("+OK\r\n", call(proxy.port, "SET", "k", "v"))
    end
  end

  # As one that sleeps, and wakes up behind the reshard: its connections are there, and it knows of nothing.
  def test_a_proxy_that_slept_neither_reads_nor_writes
    with_two do |proxy, other|
      asleep(other)
      converse(other.port) do |redis|
        redis.call("MSET", *Array.new(200) { |i| ["k#{i}", "old"] }.flatten)
        proxy.reshard(nodes: addresses)
        200.times { |i| call(proxy.port, "SET", "k#{i}", "new") }
        replies = Array.new(200) { |i| [redis.call("SET", "k#{i}", "lost"), redis.call("GET", "k#{i}")] }.flatten
        assert_equal([], replies.grep_v(ENDED))
        wait_until { redis.call("GET", "k1").match?(BARRED) }
      end
      assert_equal(["$3\r\nnew\r\n"], Array.new(200) { |i| call(proxy.port, "GET", "k#{i}") }.uniq)
      other.reload(nodes: addresses)
      assert_equal("$3\r\nnew\r\n", call(other.port, "GET", "k1"))
    end
  end

  # Its waiting, watching and subscribed clients have connections of their own to nodes, and so has a large value.
  def test_connections_of_every_kind_end
    with_two(users: true) do |proxy, other|
      asleep(other)
      nodes.each { |server| call(server.port, "ACL", "SETUSER", "ann", "on", ">pw", "allkeys", "allcommands") }
      clients = Array.new(5) { Support::RedisConversation.new(other.port, "127.0.0.1") }
      begin_everywhere(*clients)
      proxy.reshard(nodes: addresses.reverse)
      held = /name=plait-shard:\S+:#{Process.pid} .*(cmd=blpop|user=ann|sub=1)/
      nodes.each { |server| refute_match(held, call(server.port, "CLIENT", "LIST")) }
      assert_match(/\A-ERR node/, clients[0].reply)
      assert_match(/\A(-ERR node|-UNKILLABLE)|\A\z/, clients[1].call("GET", "watched").to_s)
      assert_match(/\A-ERR node/, clients[3].call("GET", "k"))
      assert_match(/\A-ERR node/, clients[4].call("GET", "k"))
    ensure
      clients&.each(&:close)
      nodes.each { |server| call(server.port, "ACL", "DELUSER", "ann") }
    end
  end

  def test_a_proxy_follows_its_file
    with_two do |proxy, other|
      other.follow { { nodes: addresses } }
      wait_until { follows? }
      100.times { |i| call(proxy.port, "SET", "k#{i}", i) }
      assert_operator(proxy.reshard(nodes: addresses), :>, 10)
      wait_until { (0...100).count { |i| readable?(other, i) } == 100 }
      wait_until { other.left_behind.nil? }
      assert_equal(0, other.reshard(nodes: addresses))
    end
  end

  # For example, a name of its file has no address for a while. Without its lease the proxy would count as dead.
  def test_a_proxy_that_could_not_follow_tries_again
    tries = Queue.new
    following(-> { (tries << true) && raise(Plait::ResolveError, "no address") }) do |other|
      wait_until { tries.size > 1 }
      assert_includes(alive(nodes[0]).keys, lease(other).id)
    end
  end

  def test_a_reshard_waits_until_its_proxy_has_followed
    order, follows, over = Array.new(3) { Queue.new }
    following(-> { (follows << true) && (over.pop || (order << :followed)) }) do |other|
      follows.pop
      reshard = Thread.new { lease(other).quietly { order << :moves } }
      wait_until { reshard.stop? }
      over.close
      assert_equal(%i[followed moves], Array.new(2) { order.pop })
    ensure
      over.close
    end
  end

  def test_a_file_that_does_not_agree_is_refused
    with_two do |proxy, other|
      asleep(other)
      proxy.reshard(nodes: addresses)
      error = assert_raises(Plait::UsageError) { other.reload(nodes: addresses.first(3)) }
      assert_match(/not the places where keys are: keys were moved by .*delete the key plait:shard in database 1/, error.message)
      error = assert_raises(Plait::UsageError) { other.reshard(nodes: addresses.first(3)) }
      assert_match(/is not that of the node/, error.message)
      assert_equal(0, other.reshard(nodes: addresses))
      assert_equal("+OK\r\n", call(other.port, "SET", "k", "v"))
    end
  end

  # A proxy that starts with the file as it was, or with the nodes in another order.
  def test_a_proxy_that_starts_behind_it
    with_proxy(nodes.first(2)) { |proxy| proxy.reshard(nodes: addresses) }
    [addresses.first(2), addresses.reverse].each do |others|
      Plait::Shard::Proxy.open(nodes: others, listen: "127.0.0.1:0") do |proxy|
        wait_until { proxy.left_behind }
        assert_match(BARRED, call(proxy.port, "GET", key_on(proxy, 0)))
      end
    end
    Plait::Shard::Proxy.open(nodes: addresses, listen: "127.0.0.1:0") { |proxy| assert_equal("+OK\r\n", call(proxy.port, "SET", "k", "v")) }
  end

  def test_clients_see_nothing_of_it
    with_proxy(nodes.first(2)) do |proxy|
      proxy.reshard(nodes: addresses)
      call(proxy.port, "SET", "k", "v")
      assert_equal(["*1\r\n$1\r\nk\r\n", ":1\r\n"], [call(proxy.port, "KEYS", "*"), call(proxy.port, "DBSIZE")])
      assert_equal("+OK\r\n", call(proxy.port, "FLUSHALL", "ASYNC"))
      assert_equal(":0\r\n", call(proxy.port, "DBSIZE"))
      nodes.each { |server| assert_match(/\Amoved/, record(server)["state"]) }
      assert_equal("+OK\r\n", call(proxy.port, "CLIENT", "SETNAME", "mine"))
      converse(proxy.port) { |redis| redis.pipeline([%w[WATCH k], %w[CLIENT SETNAME mine], %w[MULTI], %w[SET k v], %w[EXEC]]) }
      nodes.each { |server| refute_match(/name=mine/, call(server.port, "CLIENT", "LIST")) }
      assert_match(/\A-ERR/, call(proxy.port, "CLIENT", "KILL", "ID", "1"))
    end
  end

  # Emptied, restored from before, or told of nothing since its master was lost.
  def test_what_a_node_has_lost_is_written_again
    with_proxy(nodes.first(2)) do |proxy|
      proxy.reshard(nodes: addresses.first(3))
      former = record(nodes[0])
      proxy.reshard(nodes: addresses)
      wait_until { nodes.all? { |server| record(server)["epoch"] == "2" } }
      call(nodes[1].port, "FLUSHALL")
      converse(nodes[0].port) { |redis| redis.pipeline([%w[SELECT 1], ["HSET", "plait:shard", *former.flatten]]) }
      wait_until { nodes.all? { |server| record(server)["epoch"] == "2" } }
      assert_equal(record(nodes[0])["serves"].sub(":0", ":1"), record(nodes[1])["serves"])
      assert_equal("+OK\r\n", call(proxy.port, "MSET", *Array.new(50) { |i| ["k#{i}", "v"] }.flatten))
    end
  end

  def test_a_node_that_does_not_allow_it
    nodes.each { |server| call(server.port, "ACL", "SETUSER", "bob", "on", ">pw", "allkeys", "allcommands", "-client") }
    with_proxy(nodes.first(2), node_user: "bob", node_password: "pw") do |proxy|
      assert_equal("+OK\r\n", call(proxy.port, "SET", "k", "v"))
      error = assert_raises(Plait::UsageError) { proxy.reshard(nodes: addresses, node_user: "bob", node_password: "pw") }
      assert_match(/does not let the proxy keep other proxies from the old places \(.*NOPERM.*needs CLIENT LIST/, error.message)
      assert_equal("$1\r\nv\r\n", call(proxy.port, "GET", "k"))
    end
  ensure
    nodes.each { |server| call(server.port, "ACL", "DELUSER", "bob") }
  end

  # The reads of a proxy that slept, at a replica.
  def test_replicas
    Support::RedisServer.start(config: { "replicaof" => "127.0.0.1 #{nodes[0].port}" }) do |replica|
      wait_until { call(replica.port, "ROLE").include?("connected") }
      groups = [{ "master" => addresses[0], "replicas" => ["127.0.0.1:#{replica.port}"] }]
      with_two(nodes: groups, reads: :replicas) do |proxy, other|
        asleep(other)
        100.times { |i| call(proxy.port, "SET", "k#{i}", "old") }
        wait_until { call(other.port, "GET", "k99") == "$3\r\nold\r\n" }
        proxy.reshard(nodes: [*groups, addresses[1]], reads: :replicas)
        converse(other.port) do |redis|
          100.times { |i| assert_match(/\A-ERR node/, redis.call("GET", "k#{i}")) }
        end
      end
    end
  end

  private

  # A proxy that does not follow yet is refused the keys that moved; it never reads an old value.
  def readable?(proxy, number)
    reply = call(proxy.port, "GET", "k#{number}") or return false # its data plane was replaced just now
    return true if reply.end_with?("\r\n#{number}\r\n")

    assert_match(/\A-ERR node/, reply)
    false
  end

  # @yieldparam proxy [Plait::Shard::Proxy]
  # @yieldparam other [Plait::Shard::Proxy] with the same nodes
  def with_two(**options)
    options = { nodes: addresses.first(2), listen: "127.0.0.1:0", **options }
    Plait::Shard::Proxy.open(**options) do |proxy|
      Plait::Shard::Proxy.open(**options) do |other|
        ids = [proxy, other].map { |one| lease(one).id }
        wait_until { nodes.first(1).all? { |server| (ids - alive(server).keys).empty? } }
        yield(proxy, other)
      end
    end
  end

  # @param reload [Proc] instead of a change of the other proxy's nodes
  # @yieldparam other [Plait::Shard::Proxy] whose file has the places to which keys have moved
  def following(reload)
    with_two do |proxy, other|
      lease(other).follow(-> { Plait::Shard.const_get(:Settings).new(nodes: addresses) }, keeps: false) { reload.call }
      wait_until { follows? }
      proxy.reshard(nodes: addresses)
      yield(other)
    end
  end

  def lease(proxy) = proxy.instance_variable_get(:@lease)

  # As after SIGSTOP, but for its data plane.
  def asleep(proxy) = lease(proxy).close

  def alive(server) = decode(server, "HGETALL", "plait:shard:proxies")

  def record(server) = decode(server, "HGETALL", "plait:shard")

  def decode(server, *words)
    reply = converse(server.port) { |redis| redis.pipeline([%w[SELECT 1], words]).last }
    Hash[*Plait.const_get(:Protocols)::RESP.decode(reply)]
  end

  # A proxy tells its nodes side by side, and a reshard asks them all.
  def follows?
    fingerprint = Plait::Shard::Placement.new(addresses).fingerprint
    nodes.first(2).each_with_index.all? do |server, number|
      alive(server).values.any? { |text| text.include?("\"follows\":\"#{fingerprint}:#{number}\"") }
    end
  end

  def begin_everywhere(waits, watches, subscribes, user, large)
    waits.write(encode("BLPOP", "list", "0"))
    assert_equal("+OK\r\n", watches.call("WATCH", "watched"))
    subscribes.call("SUBSCRIBE", "news")
    assert_equal(["+OK\r\n", "$-1\r\n"], user.pipeline([%w[AUTH ann pw], %w[GET k]]))
    assert_equal("+OK\r\n", large.call("SET", "large", "x" * 200_000))
    wait_until { nodes.first(2).any? { |server| call(server.port, "CLIENT", "LIST").include?("cmd=blpop") } }
  end
end
