# frozen_string_literal: true

require_relative "fake_nodes"

# Nodes, or networks before them, that are slower than clients.
class ShardProxySlowNodesTest < Minitest::Test
  include ShardNodes
  include FakeNodes

  SIZE = 20_000_000

  # All the time bytes are taken, and longer than a node may be silent.
  def test_one_that_takes_a_large_value_slowly_is_not_given_up
    in_growing_times(1.5, 15) do |seconds|
      with_fakes(slow_node(seconds * 2), timeout: seconds) do |proxy, keys|
        converse(proxy.port) do |client|
          client.write(encode("SET", keys[0], "x" * SIZE))
          assert_equal("+OK\r\n", client.reply)
          assert_equal(0, proxy.figures[:node_failures])
        end
      end
    end
  end

  def test_one_on_the_connection_of_all_is_not_given_up_either
    in_growing_times(1.5, 15) do |seconds|
      with_fakes(slow_node(seconds * 2), timeout: seconds) do |proxy, keys|
        converse(proxy.port) do |client|
          client.write(encode("LPUSH", keys[0], "x" * SIZE, "y"))
          assert_equal("+OK\r\n", client.reply)
        end
      end
    end
  end

  private

  # Reads for so many seconds; a part of it waits in the kernel.
  def slow_node(seconds)
    fake_node do |socket|
      socket.setsockopt(:SOCKET, :RCVBUF, 400_000)
      left = SIZE
      while left.positive?
        left -= socket.readpartial(SIZE / 40).bytesize
        sleep(seconds.fdiv(40))
      end
      socket.write("+OK\r\n")
      socket.read
    end
  end
end
