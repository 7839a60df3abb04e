# frozen_string_literal: true

require "test_helper"
require "plait/io/connector"
require "plait/io/datagrams"

class DatagramsTest < Minitest::Test
  Datagrams = Plait::Io::Datagrams
  Endpoint = Plait::Io::Endpoint

  def setup = @datagrams = Datagrams.open(Endpoint.parse("udp://127.0.0.1:0"))

  def teardown = @datagrams.close

  def test_there_and_back
    serving = Thread.new { @datagrams.each { |bytes, sender| @datagrams.deliver(bytes.reverse, sender) } }
    peer = Datagrams.connect(@datagrams.endpoint)
    ["abc", "x" * Datagrams::LONGEST].each do |bytes|
      peer.send(bytes, 0)
      assert_equal(bytes.reverse, peer.recv(Datagrams::ROOM))
    end
    @datagrams.close
    assert(serving.join(20))
    assert_raises(IOError) { @datagrams.io.local_address }
  ensure
    peer&.close
  end

  def test_names_are_resolved
    peer = Datagrams.connect(Endpoint.parse("udp://localhost:#{@datagrams.endpoint.port}"), deadline: Plait::Deadline.after(20))
    assert_equal(@datagrams.endpoint.port, peer.remote_address.ip_port)
  ensure
    peer&.close
  end

  def test_what_can_not_be_sent
    refute(@datagrams.deliver("x" * (Datagrams::LONGEST + 1), @datagrams.io.local_address))
  end

  def test_an_address_in_use
    error = assert_raises(Plait::ListenError) { Datagrams.open(@datagrams.endpoint) }
    assert_match(/somebody listens there already/, error.message)
  end

  def test_streams_are_something_else
    endpoint = @datagrams.endpoint
    assert_equal("udp", endpoint.to_s[0, 3])
    assert_raises(Plait::UsageError) { Plait::Io::Connector.new.connect(endpoint) }
    assert_raises(Plait::UsageError) { Plait::Io::Listener.open(endpoint) }
  end
end
