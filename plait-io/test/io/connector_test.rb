# frozen_string_literal: true

require "test_helper"
require "support/interrupts"
require "support/io_cases"
require "tmpdir"

class IoConnectorTest < Minitest::Test
  include IoCases
  include Support::Interrupts

  Endpoint = Plait.const_get(:Io)::Endpoint
  Connector = Plait.const_get(:Io)::Connector
  ECHO = ->(socket) { IO.copy_stream(socket, socket) }
  # TEST-NET-1 (RFC 5737): routed nowhere.
  NOBODY = "192.0.2.1"

  %w[127.0.0.1 localhost].each do |host|
    everywhere("connects to #{host}") do
      serving(ECHO) do |port|
        phases = Connector::Phases.new
        stream = stream_to(Endpoint.tcp(host, port), deadline: within(60), phases: phases)
        stream.write("ping")
        assert_equal("ping", stream.read_exactly(4, deadline: within(60)))
        assert(stream.io.getsockopt(:TCP, :NODELAY).bool)
        assert_operator(phases.connect, :>, 0)
        assert_equal(host == "localhost", !phases.resolve.nil?)
      ensure
        stream&.close
      end
    end
  end

  # It has accepted when connect(2) returns: nobody has to wait for that.
  def test_a_peer_on_this_machine_is_connected_to_at_once
    skip("is so with the extension") unless Plait.const_get(:Native).available?

    serving(ECHO) do |port|
      Addrinfo.getaddrinfo("127.0.0.1", port, nil, :STREAM).each do |address|
        attempt = Connector::Attempt.new(address.afamily, address.to_sockaddr, Connector.const_get(:SocketOptions).new)
        assert_same(true, attempt.start)
      ensure
        attempt.close
      end
    end
  end

  everywhere("connects to a UNIX socket") do
    Dir.mktmpdir("plait-test-") do |folder|
      serving(ECHO, UNIXServer.new("#{folder}/s")) do
        stream = stream_to(Endpoint.unix("#{folder}/s"), deadline: within(60))
        stream.write("ping")
        assert_equal("ping", stream.read_exactly(4, deadline: within(60)))
      ensure
        stream&.close
      end
      error = assert_raises(Plait::ConnectError) { Connector.new.connect(Endpoint.unix("#{folder}/none")) }
      assert_match(/no such socket file/, error.message)
    end
  end

  everywhere("waits while the backlog of a UNIX socket is full") do |mechanism|
    Dir.mktmpdir("plait-test-") do |folder|
      server = Socket.new(:UNIX, :STREAM).tap { |s| s.bind(Addrinfo.unix("#{folder}/s")) && s.listen(0) }
      connector = Connector.new
      first = connector.connect(Endpoint.unix("#{folder}/s"))
      assert_raises(Plait::ConnectTimeout) { connector.connect(Endpoint.unix("#{folder}/s"), deadline: within(0.05)) }
      second = mechanism.beside { connector.connect(Endpoint.unix("#{folder}/s"), deadline: within(30)) }
      accepted = server.accept
      [first, second.call, accepted.first, server].each(&:close)
    end
  end

  everywhere("a refusal says who and why, and leaves nothing behind") do
    %W[127.0.0.1:#{CLOSED} localhost:#{CLOSED}].each do |name|
      error = assert_raises(Plait::ConnectError) { Connector.new.connect(Endpoint.parse(name), deadline: within(60)) }
      assert_match(/can't connect to tcp:.*#{name}.*nothing listens there/, error.message)
      assert_equal("tcp://#{name}", error.endpoint)
      assert_predicate(error, :retry_safe?)
      refute_empty(error.causes)
    end
  end

  everywhere("a name without an address") do
    error = assert_raises(Plait::ResolveError) { Connector.new.connect(Endpoint.tcp("no-such-host.invalid", 1), deadline: within(30)) }
    assert_match(/no-such-host\.invalid/, error.message)
    assert_predicate(error, :retry_safe?)
  end

  everywhere("a connect that is never answered ends at the deadline") do
    with_full_backlog do |port|
      ["127.0.0.1", "name"].each do |host|
        connector = Connector.new(resolver: FixedResolver.new("127.0.0.1"))
        took = stopwatch do
          error = assert_raises(Plait::ConnectTimeout) { connector.connect(Endpoint.tcp(host, port), deadline: within(0.1)) }
          assert_equal(:connect, error.phase)
          assert_match(/#{host}:#{port}/, error.message)
        end
        assert_operator(took, :<, 60)
      end
    end
  end

  everywhere("an address that hangs doesn't hold up the next") do
    with_full_backlog do |dead|
      serving(ECHO) do |port|
        connector = Connector.new(resolver: FixedResolver.new(["127.0.0.1", dead], ["127.0.0.2", dead], ["127.0.0.1", port]),
                                  stagger: 0.02)
        assert_no_leaks do
          socket = connector.connect(Endpoint.tcp("name", 1), deadline: within(30))
          assert_equal(port, socket.remote_address.ip_port)
          socket.close
        end
      end
    end
  end

  everywhere("an address that fails is followed by the next at once") do
    serving(ECHO) do |port|
      connector = Connector.new(resolver: FixedResolver.new(["127.0.0.1", CLOSED], ["127.0.0.1", port]), stagger: 60)
      connector.connect(Endpoint.tcp("name", 1), deadline: within(30)).close
    end
  end

  everywhere("all addresses hang until the deadline") do
    with_full_backlog do |dead|
      resolver = FixedResolver.new(["127.0.0.1", dead], ["127.0.0.1", CLOSED], ["127.0.0.2", dead])
      in_growing_times(0.1, 1, 10) do |seconds|
        assert_no_leaks do
          error = assert_raises(Plait::ConnectTimeout) do
            Connector.new(resolver: resolver, stagger: 0.01).connect(Endpoint.tcp("name", 1), deadline: within(seconds))
          end
          assert_match(/nothing listens there/, error.message)
        end
      end
    end
  end

  def test_families_alternate
    addresses = ["1::1", "1::2", "1::3", "1.1.1.1"].map { |address| Addrinfo.tcp(address, 1) }
    race = Connector.const_get(:Race).new(Endpoint.tcp("x", 1), addresses, nil, 1, nil)
    assert_equal(["1::1", "1.1.1.1", "1::2", "1::3"], race.instance_variable_get(:@waiting).map(&:ip_address))
  end

  def test_a_kill_while_connecting_leaves_nothing_behind
    with_full_backlog do |dead|
      [FixedResolver.new(["127.0.0.1", dead]), FixedResolver.new(["127.0.0.1", dead], ["127.0.0.2", dead])].each do |resolver|
        assert_no_leaks do
          thread = Thread.new { Connector.new(resolver: resolver, stagger: 0.01).connect(Endpoint.tcp("name", 1)) }
          wait_until { thread.stop? }
          sleep(0.03) # the second one is on its way too
          thread.kill.join
        end
      end
    end
  end

  def test_an_interrupt_anywhere_leaves_no_socket
    serving(ECHO) do |port|
      [["127.0.0.1", port], ["127.0.0.1", port, "127.0.0.2", port]].each do |addresses|
        resolver = FixedResolver.new(*addresses.each_slice(2))
        assert_no_socket_lost do
          phases = Connector::Phases.new
          [-> { Connector.new(resolver: resolver).connect(Endpoint.tcp("name", 1), phases: phases) }, phases.method(:close)]
        end
      end
    end
  end

  def test_a_cancelled_fiber_leaves_nothing_behind
    with_full_backlog do |dead|
      resolver = FixedResolver.new(["127.0.0.1", dead], ["127.0.0.2", dead])
      assert_no_leaks do
        assert_raises(Plait::TimeoutError) do
          Plait.run(on: :fibers) do
            Plait.timeout(0.05) { Connector.new(resolver: resolver, stagger: 0.01).connect(Endpoint.tcp("name", 1)) }
          end
        end
      end
    end
  end

  def test_source_address_and_keepalive
    serving(ECHO) do |port|
      connector = Connector.new(local_address: "127.0.0.9", keepalive: { idle: 17, interval: 3, count: 2 })
      socket = connector.connect(Endpoint.tcp("localhost", port), deadline: within(60))
      assert_equal("127.0.0.9", socket.local_address.ip_address)
      assert(socket.getsockopt(:SOCKET, :KEEPALIVE).bool)
      assert_equal(17, socket.getsockopt(:TCP, :KEEPIDLE).int)
    ensure
      socket&.close
    end
  end

  def test_a_source_port_again_after_its_connection_has_ended
    own = Addrinfo.tcp("127.0.0.9", 0).bind { |socket| socket.local_address.ip_port }
    connector = Connector.new(local_address: "127.0.0.9", local_port: own)
    serving(ECHO) do |port|
      2.times do
        socket = connector.connect(Endpoint.tcp("127.0.0.1", port), deadline: within(60))
        assert_equal("127.0.0.9:#{own}", socket.local_address.inspect_sockaddr)
        socket.setsockopt(Socket::Option.linger(true, 0)) # no TIME_WAIT
        socket.close
      end
    end
  end

  def test_wrong_options
    assert_raises(Plait::UsageError) { Connector.new(local_address: "nowhere") }
    assert_raises(Plait::UsageError) { Connector.new(local_port: 5) }
    assert_raises(Plait::UsageError) { Connector.new(keepalive: { idel: 1 }) }
    assert_raises(Plait::UsageError) { Connector.new.connect(Endpoint.tls("localhost", 1)) }
  end

  def test_a_source_address_of_another_family
    connector = Connector.new(local_address: "::1", resolver: FixedResolver.new("127.0.0.1"))
    error = assert_raises(Plait::ConnectError) { connector.connect(Endpoint.tcp("name", 1)) }
    assert_match(/no address of the family of ::1/, error.message)
  end

  def test_a_literal_address_costs_no_thread_and_few_objects
    server = TCPServer.new("127.0.0.1", 0)
    connector, endpoint = Connector.new, Endpoint.tcp("127.0.0.1", server.addr[1])
    connector.connect(endpoint).close
    threads = Thread.list
    before = GC.stat(:total_allocated_objects)
    socket = connector.connect(endpoint)
    allocated = GC.stat(:total_allocated_objects) - before
    assert_empty(Thread.list - threads)
    assert_operator(allocated, :<=, 12)
  ensure
    [socket, server].compact.each(&:close)
  end

  private

  # A port that takes no further connection: what is sent there is never answered.
  def with_full_backlog
    server = Socket.new(:INET, :STREAM).tap { |s| s.bind(Addrinfo.tcp("0.0.0.0", 0)) && s.listen(0) }
    port = server.local_address.ip_port
    fillers = Array.new(4) { Socket.new(:INET, :STREAM) }
    fillers.each { |filler| filler.connect_nonblock(Addrinfo.tcp("127.0.0.1", port), exception: false) }
    sleep(0.02)
    yield(port)
  ensure
    [server, *fillers].compact.each(&:close)
  end
end
