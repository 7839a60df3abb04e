# frozen_string_literal: true

require_relative "fake_nodes"

# The process that a proxy runs in forks, and the child lives on while clients and nodes come and go.
class ShardProxyForksTest < Minitest::Test
  include ShardNodes
  include FakeNodes

  def test_a_connection_ends_though_a_child_lives
    with_child_beside_proxy do |proxy, client|
      client.write(encode("QUIT"))
      assert_equal(["+OK\r\n", nil], [client.reply, client.reply])
      wait_until { proxy.figures[:clients].zero? }
      assert_equal("+PONG\r\n", call(proxy.port, "PING"))
    end
  end

  def test_bytes_for_a_connection_that_is_closed_reach_nobody
    with_child_beside_proxy do |proxy, client|
      client.write(encode("QUIT"))
      assert_equal("+OK\r\n", client.reply)
      wait_until { proxy.figures[:clients].zero? }
      20.times do
        client.socket.write_nonblock(encode("PING"), exception: false)
        assert_equal("+PONG\r\n", call(proxy.port, "PING"))
      rescue Errno::EPIPE, Errno::ECONNRESET
        break
      end
    end
  end

  def test_the_child_keeps_no_listener
    with_child_beside_proxy { |proxy, _| assert_listeners_end(proxy.port) { proxy.stop } }
  end

  def test_a_nodes_connection_ends_though_a_child_lives
    ended = Queue.new
    node = fake_node do |socket|
      next unless socket.readpartial(100).include?("$3\r\nGET\r\n") # what the proxy itself asks has connections of its own

      socket.write("?\r\n")
      ended << socket.read
    end
    with_child_beside_proxy([node]) do |proxy, client|
      assert_match(/\A-ERR node/, client.call("GET", "k"))
      assert_equal("", Timeout.timeout(60) { ended.pop })
      assert_equal("+PONG\r\n", call(proxy.port, "PING"))
    end
  end

  private

  # The child has closed what is the proxy's before the block, and ends after it.
  def with_child_beside_proxy(servers = [silent_node])
    with_fakes(*servers) do |proxy|
      converse(proxy.port) do |client|
        assert_equal("+PONG\r\n", client.call("PING"))
        with_child(client) { yield(proxy, client) }
      end
    end
  end

  def with_child(client)
    ours, theirs = UNIXSocket.pair
    child = fork do
      ours.close
      client.socket.close
      theirs.write(".")
      theirs.read
      exit!(0)
    end
    theirs.close
    assert_equal(".", ours.read(1))
    yield
  ensure
    ours.close
    Process.wait(child)
  end
end
