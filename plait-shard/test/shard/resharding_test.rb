# frozen_string_literal: true

require_relative "proxy/nodes"

# Keys move to their new places while clients read and write, and none is lost.
class ShardReshardingTest < Minitest::Test
  include ShardNodes

  def setup
    super
    (nodes + [plain]).each { |server| call(server.port, "FLUSHALL") }
  end

  # Each writer knows what it was told was written. In the end all of it is there, at its new place, once.
  def test_writers_throughout
    with_proxy(nodes.first(2), threads: 2) do |proxy|
      fill(proxy, 3000)
      writers = Array.new(4) { |number| Writer.new(proxy.port, number) }
      wait_until { writers.all? { |writer| writer.acknowledged.size > 50 } }
      assert_operator(proxy.reshard(nodes: addresses, placement: :cluster), :>, 2000)
      counts = writers.map(&:count)
      wait_until { writers.zip(counts).all? { |writer, count| writer.count > count + 50 } }
      lost = writers.flat_map { |writer| lost(proxy, writer.stop) }
      assert_equal([], lost)
      assert_equal([], (0...3000).reject { |i| call(proxy.port, "GET", "k#{i}") == bulk("v#{i}") })
      assert_at_their_places(proxy)
    end
  end

  def test_all_types_and_times_to_live
    with_proxy(nodes.first(1)) do |proxy|
      converse(proxy.port) do |redis|
        10.times do |i|
          redis.pipeline([["SET", "s#{i}", "\0\r\n\xff".b * i], ["RPUSH", "l#{i}", "a", "b"], ["SADD", "e#{i}", "x", "y"],
                          ["HSET", "h#{i}", "f", "v"], ["ZADD", "z#{i}", "1.5", "m"], ["XADD", "x#{i}", "1-1", "f", "v"],
                          ["SET", "t#{i}", "v", "PX", "500000"], ["SET", "gone#{i}", "v", "PX", "1"]])
        end
        redis.pipeline([%w[XGROUP CREATE x1 g 0], %w[XREADGROUP GROUP g c STREAMS x1 >]])
      end
      proxy.reshard(nodes: addresses)
      converse(proxy.port) do |redis|
        10.times do |i|
          assert_equal([bulk("\0\r\n\xff".b * i), array("a", "b"), array("x", "y"), array("f", "v"), bulk("1.5"), ":1\r\n"],
                       redis.pipeline([["GET", "s#{i}"], ["LRANGE", "l#{i}", "0", "-1"], ["SORT", "e#{i}", "ALPHA"],
                                       ["HGETALL", "h#{i}"], ["ZSCORE", "z#{i}", "m"], ["XLEN", "x#{i}"]]))
          assert_includes(1..500_000, redis.call("PTTL", "t#{i}")[1..].to_i)
          assert_equal([":-1\r\n", "$-1\r\n"], redis.pipeline([["PTTL", "s#{i}"], ["GET", "gone#{i}"]]))
        end
        assert_match(/\A\*4\r\n:1\r\n/, redis.call("XPENDING", "x1", "g"))
      end
      assert_at_their_places(proxy)
    end
  end

  # Nodes don't tell of XACK, nor of FLUSHALL.
  def test_changes_that_nodes_do_not_tell
    with_proxy(nodes.first(1)) do |proxy|
      fill(proxy, 500)
      converse(proxy.port) do |redis|
        redis.pipeline([%w[XADD x 1-1 f v], %w[XGROUP CREATE x g 0], %w[XREADGROUP GROUP g c STREAMS x >]])
      end
      during_the_switch(proxy) { |redis| redis.call("XACK", "x", "g", "1-1") }
      proxy.reshard(nodes: addresses)
      assert_match(/\A\*4\r\n:0\r\n/, call(proxy.port, "XPENDING", "x", "g"))
    end
    nodes.each { |server| call(server.port, "FLUSHALL") }
    with_proxy(nodes.first(1)) do |proxy|
      fill(proxy, 500)
      during_the_switch(proxy) { |redis| redis.pipeline([%w[FLUSHALL], %w[SET after x]]) }
      proxy.reshard(nodes: addresses)
      assert_equal([":1\r\n", bulk("x")], [call(proxy.port, "DBSIZE"), call(proxy.port, "GET", "after")])
    end
  end

  def test_one_that_is_broken_off
    servers = nodes.first(2) + [Support::RedisServer.start]
    with_proxy(nodes.first(2)) do |proxy|
      fill(proxy, 400)
      during_the_switch(proxy) { servers.last.kill }
      assert_raises(Plait::ConnectionError) { proxy.reshard(nodes: addresses(servers)) }
      assert_equal(bulk("v7"), call(proxy.port, "GET", "k7"))
      call(proxy.port, "DEL", "k8")
      servers.last.restart
      copy_to_its_new_place(servers, proxy, "k8")
      assert_match(/resume: true/, assert_raises(Plait::UsageError) { proxy.reshard(nodes: addresses(servers)) }.message)
      proxy.reshard(nodes: addresses(servers), resume: true)
      assert_equal([bulk("v7"), "$-1\r\n"], [call(proxy.port, "GET", "k7"), call(proxy.port, "GET", "k8")])
    end
  ensure
    servers&.last&.stop
  end

  # A script may write keys beside its own. Such a key has no copy at the new place.
  def test_keys_that_were_not_at_their_place_stay
    with_proxy(nodes.first(2)) do |proxy|
      old, new = [nodes.first(2), nodes].map { |servers| Plait::Shard::Placement.new(addresses(servers)) }
      beside = (0..).lazy.map { |i| "k#{i}" }.select { |key| old.node_for(key) == 1 && new.node_for(key) > 1 }.first(2)
      beside.each { |key| call(nodes[0].port, "SET", key, "beside") }
      call(proxy.port, "SET", beside.last, "its own")
      proxy.reshard(nodes: addresses)
      assert_equal([bulk("beside")] * 2, beside.map { |key| call(nodes[0].port, "GET", key) })
      assert_equal(["$-1\r\n", bulk("its own")], beside.map { |key| call(proxy.port, "GET", key) })
    end
  end

  # A reshard that was broken off has left keys at its old places.
  def test_a_resumed_one_deletes_what_has_a_copy
    with_proxy(nodes.first(2)) do |proxy|
      old, new = [nodes.first(2), nodes].map { |servers| Plait::Shard::Placement.new(addresses(servers)) }
      left, beside = (0..).lazy.map { |i| "k#{i}" }.select { |key| old.node_for(key) == 1 && new.node_for(key) > 1 }.first(2)
      [left, beside].each { |key| call(nodes[0].port, "SET", key, "stale") }
      call(proxy.port, "SET", left, "fresh")
      proxy.reshard(nodes: addresses, resume: true)
      assert_equal(["$-1\r\n", bulk("stale")], [left, beside].map { |key| call(nodes[0].port, "GET", key) })
      assert_equal(bulk("fresh"), call(proxy.port, "GET", left))
    end
  end

  # No client is served meanwhile.
  def test_a_node_that_stops_in_the_last_step
    servers = Array.new(2) { Support::RedisServer.start }
    with_patience(1) do
      with_proxy(servers, connect_timeout: 3) do |proxy|
        key = key_on(proxy, 1)
        call(proxy.port, "SET", key, "v")
        in_the_last_step { servers.first.signal(:STOP) }
        assert_raises(Plait::ReadTimeout) { proxy.reshard(nodes: addresses(servers + nodes.first(1)), within: 1) }
        assert_equal(bulk("v"), call(proxy.port, "GET", key))
      end
    end
  ensure
    servers&.first&.signal(:CONT)
    servers&.each(&:stop)
  end

  def test_settings_of_nodes_are_as_before
    with_proxy(nodes.first(2)) do |proxy|
      call(nodes[0].port, "CONFIG", "SET", "notify-keyspace-events", "Kx")
      proxy.reshard(nodes: addresses)
      assert_match(/\r\n(Kx|xK)\r\n\z/, call(nodes[0].port, "CONFIG", "GET", "notify-keyspace-events"))
      assert_raises(Plait::UsageError) { proxy.reshard(nodes: addresses, nothing: 1) }
    end
  ensure
    call(nodes[0].port, "CONFIG", "SET", "notify-keyspace-events", "")
  end

  # Writes keys, each once and some once more, and remembers what was acknowledged; connects again when it is let go.
  class Writer
    attr_reader :acknowledged, :count

    def initialize(port, number)
      @count = 0
      @port = port
      @number = number
      @acknowledged = {}
      @thread = Thread.new { run }
    end

    def stop
      @ended = true
      @thread.join
      @acknowledged
    end

    private

    def run
      until @ended
        begin
          Support::RedisConversation.open(@port) { |redis| nil while !@ended && write(redis, @count += 1) }
        rescue SystemCallError, Plait::TruncatedError
          next
        end
      end
    end

    # A write without an answer may have been done or not: the next one to the key settles it.
    def write(redis, count)
      key = "w#{@number}:#{count % 7 == 6 ? count - 6 : count}"
      before = @acknowledged.delete(key)
      reply = redis.call("SET", key, count.to_s)
      @acknowledged[key] = reply == "+OK\r\n" ? count : before
      @acknowledged.delete(key) unless reply
      reply
    end
  end

  private

  def bulk(text) = "$#{text.bytesize}\r\n#{text}\r\n".b

  def array(*words) = encode(*words)

  def fill(proxy, count)
    converse(proxy.port) { |redis| redis.call("MSET", *Array.new(count) { |i| ["k#{i}", "v#{i}"] }.flatten) }
  end

  # @return [Array<String>] keys whose value is not what was acknowledged last
  def lost(proxy, acknowledged)
    converse(proxy.port) { |redis| acknowledged.reject { |key, count| redis.call("GET", key) == bulk(count.to_s) }.keys }
  end

  # Each key is on its node, and on no other.
  def assert_at_their_places(proxy)
    servers = proxy.placement.nodes.map(&:port)
    servers.each_with_index do |port, index|
      keys = Plait.const_get(:Protocols)::RESP.decode(call(port, "KEYS", "*"))
      assert_equal([], keys.reject { |key| proxy.placement.node_for(key) == index })
    end
  end

  # Runs the block, with a connection through the proxy, when all has been copied and clients are about to be let go.
  def during_the_switch(proxy, &meanwhile)
    planes = proxy.instance_variable_get(:@planes)
    planes.define_singleton_method(:switch) do |*arguments, &block|
      singleton_class.send(:remove_method, :switch)
      Support::RedisConversation.open(proxy.port, &meanwhile)
      switch(*arguments, &block)
    end
  end

  # Runs the block before the first catching up of a watch.
  def in_the_last_step(&step)
    watch = Plait::Shard.const_get(:ChangeWatch)
    original = watch.instance_method(:catch_up)
    watch.send(:remove_method, :catch_up)
    watch.define_method(:catch_up) do
      watch.send(:remove_method, :catch_up)
      watch.define_method(:catch_up, original)
      step.call
      catch_up
    end
  end

  # The control plane waits so many seconds for a silent node while the block runs.
  def with_patience(seconds)
    connection = Plait::Shard.const_get(:NodeConnection)
    before = connection.send(:remove_const, :PATIENCE)
    connection.const_set(:PATIENCE, seconds)
    yield
  ensure
    connection.send(:remove_const, :PATIENCE)
    connection.const_set(:PATIENCE, before)
  end

  # As a reshard leaves it that is broken off.
  def copy_to_its_new_place(servers, proxy, key)
    place = servers[Plait::Shard::Placement.new(addresses(servers)).node_for(key)]
    refute_equal(proxy.placement.nodes[proxy.placement.node_for(key)].port, place.port, "it does not move")
    call(place.port, "SET", key, "stale")
  end
end
