# frozen_string_literal: true

require "rbconfig"
require_relative "proxy/nodes"

class ShardProxyTest < Minitest::Test
  include ShardNodes

  Proxy = Plait::Shard::Proxy

  def test_start_and_stop
    nodes
    assert_no_leaks do
      proxy = Proxy.new(nodes: addresses, listen: "127.0.0.1:0", threads: 2)
      refute_predicate(proxy, :running?)
      assert_same(proxy, proxy.start)
      assert_equal("+OK\r\n", call(proxy.port, "SET", "k", "v"))
      assert_raises(Plait::UsageError) { proxy.start }
      assert_listeners_end(proxy.port) { proxy.stop }
      refute_predicate(proxy, :running?)
      proxy.stop
    end
  end

  def test_it_starts_again
    proxy = Proxy.new(nodes: addresses, listen: "127.0.0.1:0")
    2.times do
      proxy.start
      assert_equal("+PONG\r\n", call(proxy.port, "PING"))
      proxy.stop
    end
  end

  def test_stopped_with_clients_and_requests_under_way
    nodes
    assert_no_leaks do
      with_proxy(threads: 2) do |proxy|
        clients = Array.new(8) { Support::RedisConversation.new(proxy.port, "127.0.0.1") }
        clients.each { |client| client.write((encode("SET", "k", "v" * 3000) * 50) + encode("MGET", "a", "b", "c")[0..-5]) }
        proxy.stop
        clients.each { |client| nil while client.reply }
        clients.each(&:close)
      end
    end
  end

  # It is not garbage as long as it runs, and the end of the process needs nobody to stop it.
  def test_one_that_nobody_stops
    nodes
    script = <<~RUBY
      require "plait/shard"
      ports = Array.new(5) { Plait::Shard::Proxy.new(nodes: #{addresses}, listen: "127.0.0.1:0").start.port }
      3.times { GC.start }
      puts ports.map { |port| TCPSocket.open("127.0.0.1", port) { |socket| socket.write("PING\\r\\n") && socket.gets } }.uniq
    RUBY
    output = IO.popen([RbConfig.ruby, *Support::FLAGS, "-e", script, { err: File::NULL }], &:read)
    assert_equal(["+PONG\r\n", true], [output, Process.last_status.success?])
  end

  def test_stop_is_not_lost_to_an_interruption
    proxy = Proxy.new(nodes: ["127.0.0.1:1"], listen: "127.0.0.1:0").start
    begun = Queue.new
    thread = Thread.new do
      Thread.current.report_on_exception = false
      Thread.handle_interrupt(IOError => :on_blocking) do
        begun << true
        nil until Thread.pending_interrupt?
        proxy.stop
      end
    end
    begun.pop
    assert_listeners_end(proxy.port) do
      thread.raise(IOError)
      assert_raises(IOError) { thread.join }
    end
  end

  def test_two_on_one_port
    Proxy.open(nodes: ["127.0.0.1:1"], listen: "127.0.0.1:0", threads: 2) do |proxy|
      other = Proxy.new(nodes: ["127.0.0.1:2"], listen: "127.0.0.1:#{proxy.port}", threads: 2)
      assert_raises(Plait::ListenError) { other.start }
    end
  end

  def test_itself_is_no_node
    %w[127.0.0.1 0.0.0.0 [::]].each { |host| assert_itself(host) }
    with_proxy do |proxy|
      %i[reload reshard].each do |change|
        assert_raises(Plait::UsageError) { proxy.public_send(change, nodes: ["127.0.0.1:#{plain.port}", "127.0.0.1:#{proxy.port}"]) }
      end
      assert_equal("+PONG\r\n", call(proxy.port, "PING"))
    end
  end

  # As under a service manager that restricts the families of addresses.
  def test_addresses_of_the_machine_that_are_not_told
    real = Socket.method(:ip_address_list)
    redefine(:ip_address_list) { raise Errno::EAFNOSUPPORT }
    with_reserved_port do |port|
      Proxy.open(nodes: ["127.0.0.9:#{port}"], listen: "0.0.0.0:#{port}", connect_timeout: 1) do
        assert_equal("+PONG\r\n", call(port, "PING"))
      end
    end
  ensure
    redefine(:ip_address_list, &real)
  end

  def test_a_fork_leaves_the_parents_alone
    with_proxy do |proxy|
      Process.wait(fork { exit!(proxy.running? || proxy.stop ? 1 : 0) })
      assert_equal([0, "+PONG\r\n"], [Process.last_status.exitstatus, call(proxy.port, "PING")])
    end
  end

  def test_figures
    with_proxy(threads: 2) do |proxy|
      converse(proxy.port) do |redis|
        redis.pipeline([%w[SET a 1], %w[MGET a b c d e], %w[NO]])
        figures = proxy.figures
        assert_equal([1, 1, 3, 1, 0], figures.values_at(:clients, :accepted, :commands, :errors, :node_failures))
        assert_operator(figures[:bytes_in], :>, 80)
      end
      wait_until { proxy.figures[:clients].zero? }
    end
  end

  def test_wrong_options
    assert_match(/listen: is HOST:PORT/, refused(listen: "x"))
    assert_match(/listen: is HOST:PORT/, refused(listen: "127.0.0.1:99999"))
    assert_match(/threads are from 1 to 256/, refused(threads: 0))
    assert_match(/a proxy doesn't know :timeouts; it takes placement, hash/, refused(timeouts: 1))
    assert_match(/timeout: is seconds, at least 0/, refused(timeout: "1"))
    assert_match(/clients: is a number, at least 1, not -1/, refused(clients: -1))
    assert_match(/no placement :x/, refused(placement: :x))
    assert_match(/strategy: is one of strict, lazy, auto.* not :slow and 65536/, refused(strategy: :slow))
    assert_match(/chunk: from 1024 to 262144 bytes/, refused(chunk: 4))
  end

  def test_addresses_that_are_none
    TCPServer.open("127.0.0.1", 0) do |taken|
      proxy = Proxy.new(nodes: %w[127.0.0.1:1], listen: "127.0.0.1:#{taken.addr[1]}")
      assert_raises(Plait::ListenError) { proxy.start }
    end
    assert_raises(Plait::ResolveError) { Proxy.new(nodes: %w[nowhere.invalid:1], listen: "127.0.0.1:0").start }
  end

  private

  # The port was free; another process may have taken it since.
  def assert_itself(host, tries: 5)
    port = Support::Server.free_port
    proxy = Proxy.new(nodes: %W[127.0.0.1:#{plain.port} 127.0.0.1:#{port}], listen: "#{host}:#{port}", connect_timeout: 1)
    assert_match(/the node 127.0.0.1:#{port} is the proxy itself/, assert_raises(Plait::UsageError) { proxy.start }.message)
    refute(proxy.running?)
  rescue Minitest::UnexpectedError, Minitest::Assertion => e
    raise if tries.zero? || !e.message.include?("Address already in use")

    assert_itself(host, tries: tries - 1)
  end

  # A socket that is bound and does not listen keeps its port from all others but the one that asks for it.
  def with_reserved_port
    Socket.open(:INET, :STREAM) do |socket|
      socket.setsockopt(:SOCKET, :REUSEADDR, true)
      socket.bind(Addrinfo.tcp("0.0.0.0", 0))
      yield socket.local_address.ip_port
    end
  end

  def redefine(name, &)
    Socket.singleton_class.remove_method(name) if Socket.singleton_methods(false).include?(name)
    Socket.define_singleton_method(name, &)
  end

  def refused(**options) = assert_raises(Plait::UsageError) { Proxy.new(nodes: %w[a:1], **options) }.message
end
