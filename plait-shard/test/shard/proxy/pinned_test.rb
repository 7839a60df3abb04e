# frozen_string_literal: true

require_relative "nodes"

# What needs a connection to a node that is one client's: commands that wait.
class ShardProxyPinnedTest < Minitest::Test
  include ShardNodes

  def test_commands_that_wait
    with_proxy(placement: :cluster) do |proxy|
      [[%w[BLPOP l{a} 0], %w[RPUSH l{a} x], "*2\r\n$4\r\nl{a}\r\n$1\r\nx\r\n"],
       [%w[BLMOVE l{a} m{a} LEFT RIGHT 0], %w[RPUSH l{a} y], "$1\r\ny\r\n"],
       [%w[BZPOPMIN z{a} 0], %w[ZADD z{a} 1 m], "*3\r\n$4\r\nz{a}\r\n$1\r\nm\r\n$1\r\n1\r\n"],
       [%w[BLMPOP 0 2 p{a} q{a} LEFT], %w[RPUSH q{a} v], "*2\r\n$4\r\nq{a}\r\n*1\r\n$1\r\nv\r\n"],
       [%w[XREAD BLOCK 0 STREAMS s{a} $], %w[XADD s{a} 1-1 f v],
        "*1\r\n*2\r\n$4\r\ns{a}\r\n*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n"]].each do |waits, ends, reply|
        assert_waits(proxy, waits, ends, reply)
      end
    end
  end

  def test_one_that_waits_in_vain_and_what_comes_behind_it
    with_proxy do |proxy|
      converse(proxy.port) do |redis|
        replies = redis.pipeline([%w[SET k v], %w[BLPOP l 0.05], %w[GET k], %w[BLPOP l 0.05], %w[PING]])
        assert_equal(["+OK\r\n", "*-1\r\n", "$1\r\nv\r\n", "*-1\r\n", "+PONG\r\n"], replies)
      end
    end
  end

  # Its own timeout counts, not that of the proxy.
  def test_waiting_longer_than_the_timeout_of_nodes
    in_growing_times(1, 10) do |seconds|
      with_proxy(timeout: seconds) do |proxy|
        converse(proxy.port) { |redis| assert_equal("*-1\r\n", redis.call("BLPOP", "l", (seconds * 2.5).to_s)) }
        assert_equal(0, proxy.figures[:node_failures])
      end
    end
  end

  # Nobody else asks the node anything meanwhile.
  def test_waiting_at_a_node_that_stops
    node = Support::RedisServer.start
    in_growing_times(1.5, 15) do |seconds|
      node.signal(:CONT)
      with_proxy([node], timeout: seconds) do |proxy|
        converse(proxy.port) do |redis|
          redis.write(encode("BLPOP", "l", "0"))
          wait_until { call(node.port, "INFO", "clients").include?("blocked_clients:1") }
          node.signal(:STOP)
          assert_match(/\A-ERR node .* was silent when it was asked whether it is well/, redis.reply)
          assert_match(/\A-ERR node .* was silent/, redis.call("BLPOP", "l", "0"))
          node.signal(:CONT)
          wait_until { redis.call("BLPOP", "l", "0.01") == "*-1\r\n" }
        end
      end
    end
  ensure
    node.signal(:CONT)
    node.stop
  end

  def test_keys_on_several_nodes_and_wrong_ones
    with_proxy do |proxy|
      keys = Array.new(4) { |node| key_on(proxy, node) }
      converse(proxy.port) do |redis|
        assert_match(/\A-CROSSSLOT/, redis.call("BLPOP", *keys, "0"))
        assert_match(/\A-ERR timeout is not a float/, redis.call("BLPOP", "k", "x"))
        redis.call("SET", "s", "text")
        assert_match(/\A-WRONGTYPE/, redis.call("BLPOP", "s", "0"))
        assert_equal("+PONG\r\n", redis.call("PING"))
      end
    end
  end

  # What would have been its element stays there.
  def test_a_client_that_goes_away_while_it_waits
    with_proxy do |proxy|
      redis = converse(proxy.port)
      redis.write(encode("BLPOP", "l", "0"))
      wait_until { blocked(proxy, "l") == 1 }
      redis.close
      wait_until { blocked(proxy, "l").zero? }
      assert_equal([":1\r\n", ":1\r\n"], [call(proxy.port, "RPUSH", "l", "x"), call(proxy.port, "LLEN", "l")])
      wait_until { proxy.figures[:clients].zero? }
    end
  end

  def test_many_at_once_and_nobody_else_waits
    with_proxy(threads: 2) do |proxy|
      waiting = Array.new(100) { |i| converse(proxy.port).tap { |redis| redis.write(encode("BLPOP", "l#{i}", "0")) } }
      wait_until { blocked(proxy, nil, :all) == 100 }
      assert_equal("+OK\r\n", call(proxy.port, "SET", "k", "v"))
      100.times { |i| call(proxy.port, "RPUSH", "l#{i}", i.to_s) }
      waiting.each_with_index { |redis, i| assert_equal("$#{i.to_s.size}\r\n#{i}\r\n", redis.reply[/\$\d+\r\n\d+\r\n\z/]) }
      assert_equal("*-1\r\n", waiting.first.call("BLPOP", "l", "0.01"))
      waiting.each(&:close)
    end
  end

  def test_a_node_dies_under_one_that_waits
    servers = Array.new(2) { Support::RedisServer.start }
    with_proxy(servers) do |proxy|
      key = key_on(proxy, 1)
      converse(proxy.port) do |redis|
        redis.write(encode("BLPOP", key, "0"))
        wait_until { call(servers[1].port, "INFO", "clients")[/blocked_clients:(\d+)/, 1] == "1" }
        servers[1].kill
        assert_match(/\A-ERR node 127.0.0.1:#{servers[1].port} /, redis.reply)
        assert_match(/\A-ERR node .* can't be reached: Connection refused/, redis.call("BLPOP", key, "0"))
        assert_equal("+PONG\r\n", redis.call("PING"))
      end
    end
  ensure
    servers&.each(&:stop)
  end

  def test_stopped_while_clients_wait
    with_proxy do |proxy|
      redis = converse(proxy.port)
      redis.write(encode("BLPOP", "l", "0"))
      wait_until { blocked(proxy, "l") == 1 }
      proxy.stop
      assert_nil(redis.reply)
      redis.close
    end
  end

  private

  def assert_waits(proxy, waits, ends, reply)
    converse(proxy.port) do |redis|
      redis.write(encode(*waits))
      wait_until { blocked(proxy, ends[1]) == 1 }
      refute_match(/\A-/, call(proxy.port, *ends))
      assert_equal(reply, redis.reply, waits.join(" "))
    end
  end

  # @return [Integer] clients that wait at the node of a key, or at all of them
  def blocked(proxy, key, all = nil)
    servers = all ? nodes : [nodes[proxy.placement.node_for(key)]]
    servers.sum { |server| call(server.port, "INFO", "clients")[/blocked_clients:(\d+)/, 1].to_i }
  end
end
