# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "pp"
require "plait/rpc"
require "tmpdir"
require_relative "toy_server"

class RPCClientTest < Minitest::Test
  Protocols = Plait.const_get(:Protocols)
  def test_calls
    with_client do |client|
      assert_equal(3, client.call(:add, 1, 2))
      assert_equal(3, client.call("add", 1, 2, timeout: 60))
      assert_equal(3, client.call(:add, 1, 2, deadline: Plait::Deadline.after(60)))
    end
  end

  def test_keywords_are_the_last_argument
    with_client(ECHO) do |client|
      assert_equal([1, { "a" => 2 }], client.call(:echo, 1, a: 2))
      assert_equal([{ "timeout" => 2 }], client.call(:echo, { timeout: 2 }))
    end
  end

  def test_futures
    with_client do |client|
      future = client.call_async(:add, 1, 2)
      assert_same(future, future.join)
      assert_predicate(future, :ready?)
      assert_equal([3, 3, nil], [future.value, future.get, future.error])
      assert_equal("#<Plait::RPC::Future add result>", future.inspect)
    end
  end

  def test_futures_that_are_not_ready
    with_client(->(*) {}) do |client|
      future = client.call_async(:slow)
      refute_predicate(future, :ready?)
      assert_nil(future.join(0.01))
      assert_match(/it may still come/, assert_raises(Plait::TimeoutError) { future.value(0.01) }.message)
      assert(future.cancel)
      refute(future.cancel)
      assert_instance_of(Plait::CancelledError, future.error)
      assert_equal(0, client.pending)
    end
  end

  def test_ready_takes_what_has_come
    with_client do |client|
      future = client.call_async(:add, 1, 2)
      Support::Waiting.wait_until { future.ready? }
      assert_equal(3, future.value)
    end
  end

  def test_then
    with_client do |client|
      derived = client.call_async(:add, 1, 2).then { |sum| sum * 2 }
      assert_equal(6, derived.value)
      assert_equal(7, derived.then { |value| value + 1 }.get(60))
      assert_predicate(derived, :ready?)
      assert_nil(derived.error)
    end
  end

  def test_then_without_anybody_who_waits
    told = Queue.new
    with_client do |client|
      Array.new(3) { |i| client.call_async(:add, i, 1).then { |sum| told << sum } }
      assert_equal([1, 2, 3], Array.new(3) { told.pop })
    end
  end

  def test_then_may_call
    with_client do |client|
      derived = client.call_async(:add, 1, 2).then { |sum| client.call(:add, sum, 10) }
      assert_equal(13, derived.value(60))
    end
  end

  def test_then_of_what_fails
    with_client(REFUSE) do |client|
      derived = client.call_async(:add).then { flunk("there is no value") }
      assert_equal("no", assert_raises(Plait::RemoteError) { derived.value }.message)
      raising = client.call_async(:add).follow { |future| told(future) }
      raising.join
    end
  end

  def test_follow_is_told_of_the_end
    told = Queue.new
    with_client(->(_, peer) { peer.socket.close }) do |client|
      client.call_async(:add).follow { |future| told << future.error }
      assert_instance_of(Plait::ConnectionClosed, told.pop)
    end
  end

  def test_map
    with_client do |client|
      assert_equal((1..1000).to_a, client.map(:add, (0...1000).map { |i| [i, 1] }))
      assert_equal([5, 6], client.map(:add, [5, 6], limit: 1))
      assert_equal([], client.map(:add, []))
      assert_match(/\Amap takes lists .* not 5\z/, assert_raises(Plait::UsageError) { client.map(:add, 5) }.message)
      assert_equal((0...50).to_a, client.map(:add, (0...50).lazy, limit: 7))
      assert_equal(0, client.pending)
    end
  end

  def test_map_of_what_fails
    with_client(->((_, id, _, (value)), peer) { value == 3 ? peer.refuse(id, "three") : peer.answer(id, value) }) do |client|
      assert_equal("three", assert_raises(Plait::RemoteError) { client.map(:m, (0...500).to_a) }.message)
      assert_equal(0, client.pending)
      assert_equal(1, client.call(:m, 1))
    end
  end

  def test_map_says_what_is_wrong
    with_client { |client| assert_raises(Plait::UsageError) { client.map(:add, [1], limit: 0) } }
  end

  def test_what_ruby_asks_of_a_proxy_stays_here
    heard = Queue.new
    with_client(->(message, _peer) { heard << message }) do |client|
      proxy = client.proxy(timeout: 5)
      assert_output("#{proxy.inspect}\n" * 2) { puts(proxy, [proxy]) }
      assert_equal(proxy.inspect, "#{proxy}") # rubocop:disable Style/RedundantInterpolation
      assert_equal([1, 1], [[[proxy]].flatten.size, [*proxy].size])
      first, = proxy
      assert_same(true, first.equal?(proxy))
      assert_equal([1, false], [{ proxy => 1 }[proxy], proxy.respond_to?(:to_str)])
      assert(case proxy when Plait::RPC.const_get(:Proxy) then proxy.respond_to?(:add) && !proxy.nil? end)
      assert_raises(TypeError) { "a" + proxy }
      assert_raises(TypeError) { [1].first(proxy) }
      assert_raises(NoMethodError) { proxy.to_ary }
      assert_raises(Protocols::MessagePackRPC::PackError) { client.call(:add, proxy) }
      assert_raises(TypeError) { Marshal.dump(proxy) }
      assert_raises(TypeError) { raise(proxy) }
      assert_raises(NoMethodError) { proxy <=> 1 }
      assert_output("#{proxy.inspect}\n[#{proxy.inspect}]\n") { [proxy, [proxy]].each { |one| PP.pp(one) } }
      assert_empty(heard)
    end
  end

  def test_a_call_that_is_too_large_is_not_sent_and_others_go_on
    gate = Queue.new
    codec = Protocols::MessagePackRPC::Codec.new(largest: 1_000)
    with_client(lambda { |(_, id, _, (text)), peer|
      peer.answer(id, (text == "wait" ? gate.pop : text).to_s.size)
    }, codec: codec) do |client|
      waiting = client.call_async(:size, "wait")
      [-> { client.call(:size, "x" * 2_000) }, -> { client.call_async(:size, ["x"] * 2_000) }, lambda {
        client.notify(:size, "x" * 2_000)
      },
       -> { client.map(:size, ["x", "x" * 2_000]) }].each do |oversized|
        error = assert_raises(Protocols::MessagePackRPC::PackError, &oversized)
        assert_match(/raise limits: {message: ...} on both sides/, error.message)
      end
      assert_equal(1, client.pending)
      gate << "okay"
      assert_equal([4, 1], [waiting.value, client.call(:size, "x")])
    end
  end

  def test_proxy
    with_client(->((_, id, method, arguments), peer) { peer.answer(id, [method, arguments]) }) do |client|
      assert_equal(["add", [1, 2]], client.proxy.add(1, 2))
      assert_equal(["class", [{ "a" => 1 }]], client.proxy.class(a: 1))
      assert_match(/tcp:/, client.proxy.inspect)
    end
  end

  def test_notifications
    told = Queue.new
    with_client(->(message, _peer) { told << message }) do |client|
      assert_nil(client.notify(:log, "hello", level: 1))
      assert_equal([2, "log", ["hello", { "level" => 1 }]], told.pop)
    end
  end

  def test_timeouts
    with_client(->(*) {}, timeout: 0.05) do |client|
      assert_raises(Plait::ReadTimeout) { client.call(:slow) }
      client.timeout = nil
      assert_nil(client.timeout)
      assert_raises(Plait::ReadTimeout) { client.call(:slow, timeout: 0.05) }
      assert_raises(Plait::ReadTimeout) { client.call(:slow, deadline: Plait::Deadline.after(0.05)) }
      assert_raises(Plait::UsageError) { client.timeout = "soon" }
    end
  end

  def test_extension_types
    point = Struct.new(:x, :y)
    factory = MessagePack::Factory.new
    factory.register_type(1, point, packer: ->(p) { [p.x, p.y].pack("CC") }, unpacker: ->(b) { point.new(*b.unpack("CC")) })
    with_client(ECHO, factory: factory) do |_, server|
      Plait::RPC::Client.open(server.url, codec: Protocols::MessagePackRPC::Codec.new(factory: factory)) do |client|
        assert_equal([point.new(1, 2)], client.call(:echo, point.new(1, 2)))
      end
    end
  end

  def test_extension_types_by_a_block
    name = Class.new { def to_s = "n" }
    with_client(ECHO) do |_, server|
      client = Plait::RPC::Client.connect(server.url) { |factory| factory.register_type(2, name, packer: :to_s) }
      assert_equal(MessagePack::ExtensionValue.new(2, "n"), client.call(:echo, name.new).first)
    ensure
      client&.close
    end
  end

  def test_raw_strings_for_old_peers
    heard = Queue.new
    server = TCPServer.new("127.0.0.1", 0)
    peer = Thread.new { server.accept.then { |socket| (heard << socket.readpartial(1000)) && socket.close } }
    client = Plait::RPC::Client.new("127.0.0.1", server.addr[1], raw: true)
    client.notify("m" * 40, "x" * 40, "b".b)
    assert_equal("\x93\x02\xda\x00\x28#{"m" * 40}\x92\xda\x00\x28#{"x" * 40}\xa1b".b, heard.pop)
  ensure
    client&.close
    peer&.join
    server&.close
  end

  def test_unix_sockets
    Dir.mktmpdir do |folder|
      ToyServer.open(path: "#{folder}/s") do |server|
        Plait::RPC::Client.open(server.url) { |client| assert_equal(3, client.call(:add, 1, 2)) }
      end
    end
  end

  def test_what_is_wrong_is_said_at_once
    error = assert_raises(Plait::UsageError) { Plait::RPC::Client.new("localhost", 1, timout: 3) }
    assert_match(/doesn't know :timout; it takes timeout, connect_timeout/, error.message)
    assert_raises(Plait::UsageError) { Plait::RPC::Client.new("localhost", 1, timeout: "soon") }
    assert_raises(Plait::UsageError) { Plait::RPC::Client.new("localhost", 1, order: :fifo) }
    assert_raises(Plait::UsageError) { Plait::RPC::Client.connect("gopher://x:1") }
    assert_raises(Plait::UsageError) { Plait::RPC::Client.connect("tcp://localhost:1", limits: { nesting: 1000 }) }
  end

  def test_timeouts_that_are_none
    with_client do |client|
      ["1", Float::NAN, Complex(1, 1), [1], -1, -1e-9, -Float::INFINITY].each do |timeout|
        error = assert_raises(Plait::UsageError) { client.call(:add, 1, timeout: timeout) }
        assert_equal("a timeout is seconds from 0, or nil for none, not #{timeout.inspect}", error.message)
        assert_raises(Plait::UsageError) { client.timeout = timeout }
        assert_raises(Plait::UsageError) { client.proxy(timeout: timeout) }
        assert_raises(Plait::UsageError) { client.notify(:add, 1, timeout: timeout) }
        assert_raises(Plait::UsageError) { client.map(:add, [1], timeout: timeout) }
        assert_raises(Plait::UsageError) { client.call_async(:add, 1, 2).then(&:itself).value(timeout) }
        assert_raises(Plait::UsageError) { Plait::RPC::Server.new({ "a" => -> {} }).stop(within: timeout) }
      end
      assert_equal(30, client.timeout)
      [nil, Float::INFINITY, 2**80, 60r].each do |timeout|
        assert_equal(3, client.call(:add, 1, 2, timeout: timeout))
        assert_equal(3, client.call_async(:add, 1, 2).then { |sum| sleep(0.01) && sum }.value(timeout))
      end
    end
  end

  def test_timeouts_that_are_over_at_once
    with_client(->(*) {}) do |client|
      [0, 1e-9].each { |timeout| assert_raises(Plait::ReadTimeout) { client.call(:slow, timeout: timeout) } }
      future = client.call_async(:slow)
      assert_raises(Plait::TimeoutError) { future.value(0) }
      [-1, Float::NAN, "1"].each { |timeout| assert_raises(Plait::UsageError) { future.value(timeout) } }
    end
  end

  def test_a_closed_client
    with_client do |client|
      client.call(:add, 1)
      client.close
      assert_predicate(client, :closed?)
      assert_match(/is closed/, assert_raises(Plait::ConnectionClosed) { client.call(:add, 1) }.message)
    end
  end

  ECHO = ->((kind, id, _, arguments), peer) { peer.answer(id, arguments) if kind == 0 }
  REFUSE = ->((_, id), peer) { peer.refuse(id, "no") }

  private

  def told(future) = future.error

  def with_client(script = ToyServer::ADD, factory: nil, **options)
    assert_no_leaks do
      ToyServer.open(script, factory: factory) do |server|
        client = Plait::RPC::Client.connect(server.url, **options)
        yield(client, server)
      ensure
        client&.close
      end
    end
  end
end
