# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "minitest/mock"
require "support/interrupts"
require "support/run_queue"
require "plait/rpc"
require_relative "toy_server"

# How a client comes by its connection, loses it, and gets another one.
class RPCClientConnectionsTest < Minitest::Test
  include Support::Interrupts

  def setup = @clock = 0.0

  def test_it_connects_with_the_first_call
    with_client do |client, server|
      refute_predicate(client, :connected?)
      client.call(:add, 1)
      assert_predicate(client, :connected?)
      assert_equal(1, server.connections)
    end
  end

  def test_it_connects_when_it_is_told_to
    with_client do |client, server|
      assert_predicate(client.open, :connected?)
      server.peer # Ruby 3.3 forgets a socket that comes just as somebody closes who accepts it
    end
  end

  def test_those_who_come_together_share_the_connection
    with_client do |client, server|
      threads = Array.new(10) { |i| Thread.new { client.call(:add, i) } }
      assert_equal((0...10).to_a, threads.map(&:value))
      assert_equal(1, server.connections)
    end
  end

  def test_fibers_that_come_together_share_the_connection
    skip_without_fibers
    with_client do |client, server|
      assert_equal((0...20).to_a, Plait.map(0...20, on: :fibers, limit: 20) { |i| client.call(:add, i) })
      assert_equal(1, server.connections)
    end
  end

  def test_an_interrupt_anywhere_while_it_connects_loses_no_socket
    ToyServer.open(ToyServer::ADD) do |server|
      assert_no_socket_lost(step: 3) do
        client = Plait::RPC::Client.connect(server.url)
        [-> { client.open }, client.method(:close)]
      end
    end
  end

  def test_an_interrupt_anywhere_while_it_connects_leaves_that_to_the_next_call
    connected = Struct.new(:usable?) { def close = nil }.new(true)
    each_interrupt do
      link = Plait::RPC::Client.const_get(:ReconnectingConnection).new("tcp://there:1", 0) do |_, &take|
        connected.tap { take.call(connected) }
      end
      [-> { link.connection(nil) }, lambda do |place|
        assert_equal(connected, link.connection(Plait::Deadline.now + 1), "after an interrupt at the #{place}")
      end]
    end
  end

  # It was at rest: nobody has seen yet that it is of no more use.
  def test_a_call_after_the_peer_broke_the_protocol_is_made_on_a_new_connection
    with_client do |client, server|
      assert_equal(1, client.call(:add, 1))
      server.peer.socket.write("\xc1")
      rest

      assert_equal(2, client.call(:add, 2))
      assert_equal(2, server.connections)
    end
  end

  def test_nobody_there
    client = Plait::RPC::Client.new("127.0.0.1", CLOSED, reconnect: 60) # which is not for the first connection
    started = Plait::Deadline.now
    error = assert_raises(Plait::ConnectError) { client.call(:add, 1) }
    assert_predicate(error, :retry_safe?)
    assert_operator(Plait::Deadline.now - started, :<, 30)
    threads = Array.new(5) { Thread.new { assert_raises(Plait::ConnectError) { client.call(:add, 1) } } }
    threads.each(&:join)
  end

  def test_a_server_that_closes_connections_at_rest
    with_client do |client, server|
      3.times do |i|
        assert_equal(i, client.call(:add, i))
        server.peer.socket.close_write
        rest
      end
      assert_equal(3, server.connections)
    end
  end

  # Nobody reads any more when the answer comes, and the end of the connection behind it.
  def test_a_server_that_is_started_again_after_a_late_answer
    gate, ended = Queue.new, Queue.new
    answer = "x" * 200_000 # of several receives
    script = lambda do |(_, id, method), peer|
      next peer.answer(id, 1) if method == "quick"

      gate.pop
      peer.answer(id, answer)
      peer.socket.close_write
      ended << true
    end
    with_client(script) do |client, server|
      assert_raises(Plait::ReadTimeout) { client.open.call(:late, timeout: 0.05) }
      end_connection(gate, ended)
      assert_equal(1, client.call(:quick))
      unread = client.call_async(:unread)
      end_connection(gate, ended)
      assert_equal(1, client.call(:quick))
      assert_equal(answer, unread.value)
      assert_equal(3, server.connections)
    end
  end

  def test_what_was_sent_is_not_sent_again
    calls = Queue.new
    script = ->(message, peer) { (calls << message) && peer.socket.shutdown }
    with_client(script) do |client|
      error = assert_raises(Plait::ConnectionClosed) { client.call(:pay, 100) }
      refute_predicate(error, :retry_safe?)
      assert_equal(1, calls.size)
    end
  end

  def test_a_server_that_is_started_again
    port = Support::Server.free_port
    server = ToyServer.new(port: port, &ToyServer::ADD)
    client = Plait::RPC::Client.new("127.0.0.1", port, reconnect: 60, timeout: 60)
    assert_equal(1, client.call(:add, 1))
    server.close
    rest
    later = Thread.new { sleep(0.3) && ToyServer.new(port: port, &ToyServer::ADD) }
    threads = Array.new(5) { |i| Thread.new { client.call(:add, i) } }
    assert_equal([0, 1, 2, 3, 4], threads.map(&:value))
    assert_equal(1, later.value.connections)
  ensure
    client&.close
    later&.value&.close
  end

  def test_a_server_that_stays_away
    in_growing_times(0.2, 0.3, 0.4) do |seconds|
      with_client(reconnect: seconds) do |client, server|
        client.call(:add, 1)
        server.close
        rest
        took, kept = Support::RunQueue.measure { assert_raises(Plait::ConnectError) { client.call(:add, 1) } }
        assert_operator(took, :>=, 0.05)
        assert_operator(took - kept, :<, 4) # of the 5 without the option
        assert_raises(Plait::ConnectError, Plait::ConnectTimeout) { client.call(:add, 1, timeout: 0.05) }
      end
    end
  end

  # Once for all calls: after that each one tries once.
  def test_a_server_that_stays_away_is_waited_for_once
    dials = 0
    link = link_that_fails(patience: 0.3) { (dials += 1) && (@clock += 0.1) }
    by_the_clock do
      assert_raises(Plait::ConnectError) { link.connection(nil) }
      assert_operator(dials, :>, 1)
      dials = 0
      3.times { (@clock += 1) && assert_raises(Plait::ConnectError) { link.connection(nil) } }
      assert_equal(3, dials)
    end
  end

  def test_while_an_attempt_takes_long_the_calls_after_it_fail_with_its_reason
    dials = 0
    link = link_that_fails(Plait::ConnectTimeout, patience: 0.3) { (dials += 1) && (@clock += 2) }
    by_the_clock do
      errors = Array.new(3) { assert_raises(Plait::ConnectTimeout) { link.connection(nil) } }
      assert_equal([1, ["no such luck"], 3], [dials, errors.map(&:message).uniq, errors.uniq(&:object_id).size])
      (@clock += 1) && assert_raises(Plait::ConnectTimeout) { link.connection(nil) }
      assert_equal(2, dials)
    end
  end

  # The one who connects has less time than the one who waits for that.
  def test_a_call_with_little_time_does_not_fail_others
    dials = Queue.new
    link = link_that_fails(Plait::ConnectTimeout, patience: 0) do |deadline|
      dials << true
      sleep(deadline ? deadline.remaining : 0.01)
    end
    first = Thread.new { assert_raises(Plait::ConnectTimeout) { link.connection(Plait::Deadline.now + 0.5) } }
    dials.pop
    second = Thread.new { assert_raises(Plait::ConnectTimeout) { link.connection(nil) } }
    [first, second].each(&:join)
    assert_equal(1, dials.size)
  end

  def test_who_is_killed_while_it_connects_leaves_it_to_others
    skip("on JRuby a backlog can't be made small") if RUBY_ENGINE == "jruby"
    server = TCPServer.new("127.0.0.1", 0)
    full = fill_backlog(server)
    client = Plait::RPC::Client.new("127.0.0.1", server.addr[1], timeout: 60, connect_timeout: 60)
    first = Thread.new { client.call(:add, 1) }
    second = Thread.new { assert_raises(Plait::ConnectTimeout) { client.call(:add, 1, timeout: 0.3) } }
    Support::Waiting.wait_until { [first, second].all?(&:stop?) }
    first.kill.join
    second.join
  ensure
    full&.each(&:close)
    server&.close
    client&.close
  end

  def test_a_fork_has_a_connection_of_its_own
    skip("no fork") unless Process.respond_to?(:fork)
    with_client do |client, server|
      future = client.call_async(:add, 1, 2)
      assert_equal(["[3]", "Plait::ConnectionClosed"], in_fork { [[client.call(:add, 3)].to_s, future.error.class.name] })
      assert_equal(3, future.value)
      assert_equal(4, client.call(:add, 4))
      assert_equal(2, server.connections)
    end
  end

  def test_closing_it_in_a_fork_harms_nobody
    skip("no fork") unless Process.respond_to?(:fork)
    with_client do |client, server|
      client.call(:add, 1)
      in_fork { client.close }
      in_fork { GC.start && nil }
      assert_equal(2, client.call(:add, 2))
      assert_equal(1, server.connections)
    end
  end

  def test_a_fork_in_the_middle_of_calls
    skip("no fork") unless Process.respond_to?(:fork)
    with_client do |client|
      threads = Array.new(3) { |t| Thread.new { Array.new(200) { |i| client.call(:add, t, i) } } }
      results = Array.new(3) { in_fork { Array.new(20) { |i| client.call(:add, i, 1) } } }
      assert_equal([(1..20).to_a] * 3, results)
      threads.each_with_index { |thread, t| assert_equal(Array.new(200) { |i| t + i }, thread.value) }
    end
  end

  def test_processes_share_a_client
    skip("no fork") unless Process.respond_to?(:fork)
    with_client do |client|
      client.call(:add, 1)
      assert_equal((1..20).to_a, Plait.map(0...20, on: :processes, limit: 2) { |i| client.call(:add, i, 1) })
    end
  end

  def test_a_secret_comes_first
    heard = Queue.new
    script = ->((_, id, method, arguments), peer) { (heard << [method, arguments]) && peer.answer(id, true) }
    with_client(script, secret: "sesame") do |client|
      client.call(:add, 1)
      assert_equal([["rpc.authenticate", ["sesame"]], ["add", [1]]], [heard.pop, heard.pop])
    end
  end

  def test_a_wrong_secret
    with_client(->((_, id), peer) { peer.refuse(id, "who are you?") }, secret: "x") do |client|
      assert_equal("who are you?", assert_raises(Plait::RemoteError) { client.call(:add, 1) }.message)
      refute_predicate(client, :connected?)
    end
  end

  private

  def with_client(script = ToyServer::ADD, **options)
    assert_no_leaks do
      ToyServer.open(script) do |server|
        client = Plait::RPC::Client.connect(server.url, **options)
        yield(client, server)
      ensure
        client&.close
      end
    end
  end

  def end_connection(gate, ended)
    gate << :over
    ended.pop
    rest
  end

  # One that had a connection, and gets no other one.
  # @yield instead of an attempt
  def link_that_fails(kind = Plait::ConnectError, patience:)
    connected = Struct.new(:usable?) { def close = nil }.new(true)
    first = true
    link = Plait::RPC::Client.const_get(:ReconnectingConnection).new("tcp://there:1", patience) do |deadline|
      next connected.tap { first = false } if first

      yield(deadline)
      raise kind, "no such luck"
    end
    link.connection(nil)
    connected[:usable?] = false
    link
  end

  # Time that passes when the test says so.
  def by_the_clock(&block) = Plait::Deadline.stub(:now, -> { @clock }, &block)

  # So long that a connection is looked at before it is used again.
  def rest = sleep(0.01)

  # Connections until the kernel answers no more.
  def fill_backlog(server)
    server.listen(0)
    Array.new(3) do
      socket = Socket.new(:INET, :STREAM)
      socket.connect_nonblock(Addrinfo.tcp("127.0.0.1", server.addr[1]), exception: false)
      socket
    end
  end

  def in_fork
    reading, writing = IO.pipe
    pid = fork do
      reading.close
      writing.write(Marshal.dump(yield))
      writing.close
      exit!(0)
    rescue Exception => e
      writing.write(Marshal.dump("#{e.class}: #{e.message}"))
      exit!(1)
    end
    writing.close
    Marshal.load(reading.read)
  ensure
    Process.wait(pid)
    reading.close
  end
end
