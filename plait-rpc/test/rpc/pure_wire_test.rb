# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/rpc"
require "socket"

# The bytes of a connection, where there is no extension.
class RPCPureWireTest < Minitest::Test
  Wire = Plait::RPC.const_get(:PureWire)

  def setup
    server = TCPServer.new("127.0.0.1", 0)
    @socket = TCPSocket.new("127.0.0.1", server.addr[1])
    @peer = server.accept
    server.close
    @wire = Wire.new(@socket, Plait.const_get(:Protocols)::MessagePackRPC::Parser.new)
  end

  def teardown
    @waiting&.join
    [@socket, @peer].each(&:close)
  end

  def test_one_sends_while_another_waits
    wait_in_a_thread(nil)
    assert(@wire.push(["bytes"]).transmit)
    assert_equal("bytes", @peer.readpartial(10))
    assert_predicate(@waiting, :alive?)
    @peer.write("\xC0")
    assert_equal(Wire::READABLE, @waiting.value)
  end

  def test_a_wait_has_an_end
    assert_equal(0, @wire.wait(Wire::READABLE, Plait::Deadline.now + 0.05))
    assert_equal(Wire::WRITABLE, @wire.wait(Wire::WRITABLE, nil))
  end

  def test_a_wait_is_over_when_the_peer_is_gone
    wait_in_a_thread(nil)
    @peer.close
    assert_equal(Wire::READABLE, @waiting.value)
    assert_nil(@wire.receive)
  end

  def test_a_wait_is_over_when_nobody_shall_wait_any_more
    wait_in_a_thread(nil)
    @wire.shut
    assert_equal(Wire::READABLE, @waiting.value)
  end

  private

  def wait_in_a_thread(limit)
    @waiting = Thread.new { @wire.wait(Wire::READABLE, limit) }
    wait_until { @waiting.status == "sleep" || RUBY_ENGINE == "jruby" }
  end
end
