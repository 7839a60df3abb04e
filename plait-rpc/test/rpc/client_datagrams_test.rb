# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "msgpack"
require "plait/rpc"
require "socket"

# A client of a server that takes datagrams; here it is a socket in the hands of the test.
class RPCClientDatagramsTest < Minitest::Test
  def setup
    @server = UDPSocket.new
    @server.bind("127.0.0.1", 0)
    @client = Plait::RPC::Client.connect("udp://127.0.0.1:#{@server.addr[1]}", timeout: 20)
  end

  def teardown
    @client.close
    @server.close
  end

  def test_a_call
    future = @client.call_async(:add, 1, 2)
    message, sender = hear
    assert_equal([0, 0, "add", [1, 2]], message)
    answer(sender, [1, 0, nil, 3])
    assert_equal(3, future.value)
  end

  def test_an_error
    future = @client.call_async(:add)
    answer(hear.last, [1, 0, "no", nil])
    assert_equal("no", assert_raises(Plait::RemoteError) { future.value }.message)
  end

  def test_a_notification
    @client.notify(:note, 5)
    assert_equal([2, "note", [5]], hear.first)
  end

  # Each message is a datagram, also of those who speak at once.
  def test_many_at_once
    futures = Array.new(8) { |number| Thread.new { @client.call_async(:echo, number) } }.map(&:value)
    8.times do
      message, sender = hear
      answer(sender, [1, message[1], nil, message[3].first])
    end
    assert_equal([*0...8], futures.map(&:value).sort)
  end

  # It may have run: a second one would run it twice.
  def test_a_call_that_is_lost_is_late_and_not_made_again
    error = nil
    took = stopwatch { error = assert_raises(Plait::ReadTimeout) { @client.call(:add, 1, 2, timeout: 0.3) } }
    refute_predicate(error, :retry_safe?)
    assert_operator(took, :>=, 0.3)
    hear
    refute(@server.wait_readable(0.1))
  end

  def test_a_late_answer_reaches_nobody
    assert_raises(Plait::ReadTimeout) { @client.open.call(:add, timeout: 0.05) }
    sender = hear.last
    future = @client.call_async(:add)
    hear
    answer(sender, [1, 0, nil, "late"])
    answer(sender, [1, 1, nil, "right"])
    assert_equal("right", future.value)
  end

  def test_what_is_no_answer_is_dropped
    future = @client.call_async(:add)
    sender = hear.last
    right = [1, 0, nil, 3].to_msgpack
    ["", "\xC1".b, right.byteslice(0, 3), right + "\xC0".b, [1, 5, nil, 3].to_msgpack,
     "\x94\x01\x00\xC0\xC6\xFF\xFF\xFF\xFF".b].each do |bytes|
      @server.send(bytes, 0, sender[3], sender[1])
      refute(future.ready?, bytes.inspect)
    end
    answer(sender, [1, 0, nil, 4])
    assert_equal(4, future.value)
  end

  def test_the_answer_of_somebody_else_is_none
    future = @client.call_async(:add)
    sender = hear.last
    UDPSocket.open { |other| other.send([1, 0, nil, :forged].to_msgpack, 0, sender[3], sender[1]) }
    answer(sender, [1, 0, nil, "true"])
    assert_equal("true", future.value)
  end

  def test_limits
    limited = Plait::RPC::Client.connect(@client.endpoint, timeout: 0.3, limits: { message: 100 })
    future = limited.call_async(:add)
    answer(hear.last, [1, 0, nil, "x" * 200])
    assert_raises(Plait::ReadTimeout) { future.value }
  ensure
    limited&.close
  end

  def test_what_is_too_long
    error = assert_raises(Plait::Protocols::MessagePackRPC::PackError) { @client.call(:echo, "x" * 70_000) }
    assert_match(/the request has 70014 bytes, and a datagram takes 65507/, error.message)
    assert_equal(0, @client.pending)
    refute(@server.wait_readable(0.05))
  end

  def test_a_call_without_a_timeout
    error = assert_raises(Plait::UsageError) { @client.call(:add, timeout: nil) }
    assert_match(/needs a timeout/, error.message)
  end

  def test_nobody_listens
    skip("JRuby is not told") if RUBY_ENGINE == "jruby"
    port = @server.addr[1]
    @server.close
    client = Plait::RPC::Client.connect("udp://127.0.0.1:#{port}", timeout: 20)
    error = assert_raises(Plait::ConnectionClosed) { client.call(:add) }
    assert_match(/Connection refused.*may have run/, error.message)
    @server = UDPSocket.new.tap { |socket| socket.bind("127.0.0.1", port) }
    future = client.call_async(:add)
    answer(hear.last, [1, 0, nil, 3])
    assert_equal(3, future.value)
  ensure
    client&.close
  end

  def test_no_secrets
    client = Plait::RPC::Client.connect(@client.endpoint, secret: "sesame")
    assert_match(/datagrams have none/, assert_raises(Plait::UsageError) { client.call(:add) }.message)
  end

  def test_nothing_is_left_behind
    assert_no_leaks do
      Plait::RPC::Client.open(@client.endpoint.to_s, timeout: 20) { |client| client.notify(:add) }
    end
  end

  private

  # @return [Array(Array, Array)] a message, and the address of its sender
  def hear
    assert(@server.wait_readable(20), "nothing came")
    bytes, sender = @server.recvfrom(65_536)
    [MessagePack.unpack(bytes), sender]
  end

  def answer(sender, message) = @server.send(message.to_msgpack, 0, sender[3], sender[1])

  def stopwatch
    began = Plait::Deadline.now
    yield
    Plait::Deadline.now - began
  end
end
