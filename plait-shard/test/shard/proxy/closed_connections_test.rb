# frozen_string_literal: true

require_relative "fake_nodes"

# A node, or a firewall before it, closes a connection on which nothing was in flight: no client notices.
class ShardProxyClosedConnectionsTest < Minitest::Test
  include ShardNodes
  include FakeNodes

  LARGE = "x" * 300_000
  # With this, a single back-off would fail all that comes behind it.
  FOREVER = 1000

  def test_no_request_fails
    with_own_node do |proxy, node|
      converse(proxy.port) do |client|
        20.times do |i|
          kill_connections(node)
          assert_equal("+OK\r\n", client.call("SET", "k", i.to_s))
          kill_connections(node)
          assert_equal("$#{i.to_s.size}\r\n#{i}\r\n", client.call("GET", "k"))
        end
      end
    end
  end

  # What waits, what is large and what watches has a connection of its own.
  def test_no_request_on_a_connection_of_its_own_fails
    with_own_node do |proxy, node|
      converse(proxy.port) do |client|
        10.times do
          kill_connections(node)
          assert_equal("+OK\r\n", client.call("SET", "large", LARGE))
          assert_equal(":1\r\n", client.call("RPUSH", "l", "v"))
          kill_connections(node)
          assert_equal("*2\r\n$1\r\nl\r\n$1\r\nv\r\n", client.call("BLPOP", "l", "5"))
          kill_connections(node)
          assert_equal(["+OK\r\n", "+OK\r\n"], [client.call("WATCH", "k"), client.call("UNWATCH")])
        end
      end
    end
  end

  def test_nor_does_a_subscription
    with_own_node do |proxy, node|
      converse(proxy.port) do |client|
        assert_equal(["+OK\r\n", "+OK\r\n"], [client.call("WATCH", "k"), client.call("UNWATCH")])
        kill_connections(node)
        assert_equal("*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n", client.call("SUBSCRIBE", "c"))
      end
    end
  end

  # What is watched is forgotten with the connection.
  def test_who_watches_is_told
    with_own_node do |proxy, node|
      converse(proxy.port) do |client|
        client.call("WATCH", "k")
        kill_connections(node)
        assert_nil(client.reply)
      end
    end
  end

  # It may have been done: it is neither repeated, nor do others fail for it.
  def test_what_was_sent_is_not_repeated
    seen = Queue.new
    node = fake_node do |socket|
      while (bytes = socket.readpartial(1000))
        seen << bytes if bytes.include?("$3\r\nSET\r\n")
        break if bytes.include?("$3\r\nSET\r\n")

        socket.write("$1\r\nv\r\n")
      end
    end
    with_fakes(node, retry: FOREVER) do |proxy, keys|
      converse(proxy.port) do |client|
        assert_equal("$1\r\nv\r\n", client.call("GET", keys[0]))
        assert_match(/has closed the connection; .* unknown\r\n\z/, client.call("SET", keys[0], "v"))
        assert_equal("$1\r\nv\r\n", client.call("GET", keys[0]))
        assert_equal([1, 1], [seen.size, proxy.figures[:node_failures]])
      end
    end
  end

  # One that answers nobody is not dialled for each request.
  def test_it_backs_off_where_nothing_was_ever_answered
    dialled = Queue.new
    node = fake_node { |socket| dialled << 1 if socket.readpartial(1000).include?("$3\r\nGET\r\n") }
    with_fakes(node, retry: FOREVER) do |proxy, keys|
      converse(proxy.port) do |client|
        assert_match(/has closed the connection/, client.call("GET", keys[0]))
        20.times { assert_match(/is not tried again yet; nothing was done/, client.call("GET", keys[0])) }
        assert_equal(1, dialled.size)
      end
    end
  end

  private

  def with_own_node(&block)
    node = Support::RedisServer.start
    with_proxy([node], retry: FOREVER) { |proxy| block.call(proxy, node) }
  ensure
    node&.stop
  end

  def kill_connections(node) = call(node.port, "CLIENT", "KILL", "TYPE", "normal")
end
