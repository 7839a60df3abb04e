# frozen_string_literal: true

require_relative "proxy/nodes"

# What happens to a data plane while a reshard switches to the next one.
class ShardPlanesTest < Minitest::Test
  include ShardNodes

  # The lease asks for one when it follows the file.
  def test_a_replacement_waits_for_a_switch
    planes, port = switching { |those| those.replace(those.settings, 1) }
    assert_equal("+PONG\r\n", call(port, "PING"))
    planes.stop
    assert_raises(Errno::ECONNREFUSED) { call(port, "PING") }
  end

  def test_a_stop_waits_for_a_switch
    planes, port = switching(&:stop)
    refute_predicate(planes, :running?)
    assert_raises(Errno::ECONNREFUSED) { call(port, "PING") }
  end

  private

  # @yieldparam planes [Planes] on a thread of its own, in the middle of a switch
  # @return [(Planes, Integer)] after both, and their port
  def switching(&change)
    planes, port = started
    middle, over = Array.new(2) { Queue.new }
    switch = Thread.new { planes.switch(planes.settings, 1) { (middle << true) && over.pop } }
    middle.pop
    other = Thread.new { change.call(planes) }
    other.report_on_exception = false
    wait_until { other.stop? }
    over << true
    [switch, other].each(&:join)
    [planes, port]
  end

  def started
    settings = Plait::Shard.const_get(:Settings).new(nodes: addresses)
    socket = Addrinfo.tcp("127.0.0.1", 0).listen
    planes = Plait::Shard.const_get(:Planes).new(settings, encrypts: false)
    planes.start([socket])
    [planes, socket.local_address.ip_port]
  ensure
    socket&.close
  end
end
