# frozen_string_literal: true

require "io/wait"
require_relative "fake_nodes"

# What clients do to a proxy, by mistake or on purpose.
class ShardProxyClientsTest < Minitest::Test
  include ShardNodes
  include FakeNodes

  # Whatever else goes on: the turns of a busy thread never end without an event.
  def test_after_a_lack_of_descriptors_it_accepts_again_under_load
    with_fakes(silent_node) do |proxy|
      converse(proxy.port) do |busy|
        assert_equal("+PONG\r\n", busy.call("PING"))
        late = connect_without_descriptors(proxy.port)
        late.write(encode("PING"))
        ends = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 40
        busy.call("PING") until late.wait_readable(0) || Process.clock_gettime(Process::CLOCK_MONOTONIC) > ends
        assert(late.wait_readable(1), "it was not accepted")
      ensure
        late&.close
      end
    end
  end

  def test_a_paused_client_that_is_reset_is_closed
    with_fakes(silent_node, timeout: 0) do |proxy, keys|
      reset(proxy.port, encode("GET", keys[0]) * 40_000) { wait_until { proxy.figures[:commands] == 10_000 } }
      wait_until { proxy.figures[:clients].zero? }
      assert_equal("+PONG\r\n", call(proxy.port, "PING"))
    end
  end

  # A browser was made to send it.
  def test_a_request_of_http_is_hung_up_on
    with_fakes(silent_node) do |proxy|
      ["POST / HTTP/1.1\r\n", "Host: x\r\n"].each do |line|
        converse(proxy.port) do |client|
          client.write("#{line}\r\nPING\r\n")
          assert_nil(client.reply)
        end
      end
      assert_equal(0, proxy.figures[:commands] - 2)
    end
  end

  private

  # @return [Socket] connected while the process could open nothing more, in the way of the proxy's turn to accept it
  def connect_without_descriptors(port)
    socket = Socket.new(:INET, :STREAM)
    soft, hard = Process.getrlimit(:NOFILE)
    Process.setrlimit(:NOFILE, 3, hard)
    socket.connect(Addrinfo.tcp("127.0.0.1", port))
    sleep(0.02) # nothing tells that accept(2) has failed
    socket
  ensure
    Process.setrlimit(:NOFILE, soft, hard)
  end

  # With bytes that the proxy has not read, so that they are what recv(2) tells of.
  def reset(port, bytes)
    socket = TCPSocket.new("127.0.0.1", port)
    socket.setsockopt(:SOCKET, :LINGER, [1, 0].pack("ii"))
    socket.write_nonblock(bytes, exception: false)
    yield
    socket.write_nonblock(bytes, exception: false)
  ensure
    socket.close
  end
end
