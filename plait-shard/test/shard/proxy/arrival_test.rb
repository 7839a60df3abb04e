# frozen_string_literal: true

require "rbconfig"
require "support/root"
require_relative "nodes"

# What several clients have sent before the proxy came round to any of them, in one turn of its thread.
class ShardProxyArrivalTest < Minitest::Test
  include ShardNodes

  CLIENTS = 6

  def test_who_waits_longer_is_served_first
    with_stopped_proxy do |clients, stop|
      stop.call { await_elements(clients) }
      assert_equal((1..CLIENTS).to_a, push_elements(clients))
    end
  end

  def test_a_transaction_before_the_write_that_would_have_it_fail
    with_stopped_proxy do |(watching, writing), stop|
      watch(watching)
      stop.call do
        watching.write(encode("EXEC"))
        writing.write(encode("SET", "k", "new"))
      end
      assert_equal(["*1\r\n$-1\r\n", "+OK\r\n"], [watching.reply, writing.reply])
    end
  end

  def test_a_transaction_behind_the_write_that_has_it_fail
    with_stopped_proxy do |(watching, writing), stop|
      watch(watching)
      stop.call do
        writing.write(encode("SET", "k", "new"))
        watching.write(encode("EXEC"))
      end
      assert_equal(["*-1\r\n", "+OK\r\n"], [watching.reply, writing.reply])
    end
  end

  private

  def watch(client)
    assert_equal(["+OK\r\n", "+OK\r\n", "+QUEUED\r\n"], client.pipeline([%w[WATCH k], %w[MULTI], %w[GET k]]))
  end

  def await_elements(clients) = clients.each { |client| client.write(encode("BLPOP", "l", "0")) }

  # @return [Array<Integer>] the element of each client
  def push_elements(clients)
    wait_until { call(nodes[0].port, "INFO", "clients")[/blocked_clients:(\d+)/, 1] == CLIENTS.to_s }
    call(nodes[0].port, "RPUSH", "l", *(1..CLIENTS).map(&:to_s))
    clients.map { |client| Integer(client.reply[/\A\*2\r\n\$1\r\nl\r\n\$1\r\n(\d)\r\n\z/, 1]) }
  end

  # All of them have connections to the node that are their own, since all have waited at once; so is the one that all share. A
  # connection that has to be made first comes behind those that are there.
  # @yieldparam clients [Array<Support::RedisConversation>]
  # @yieldparam stop [Proc] while whose block runs the proxy does not
  def with_stopped_proxy
    with_process do |port, pid|
      clients = Array.new(CLIENTS) { converse(port) }
      assert_equal("$-1\r\n", clients.first.call("GET", "k"))
      await_elements(clients)
      assert_equal((1..CLIENTS).to_a, push_elements(clients).sort)
      yield(clients, ->(&block) { stopped(pid, &block) })
    ensure
      clients&.each(&:close)
    end
  end

  # A process that has served a socket, and has not gone to sleep yet, looks at that one first: epoll tells no order then.
  def stopped(pid)
    wait_until { asleep?(pid) && asleep?(nodes[0].pid) }
    Process.kill(:STOP, pid)
    wait_until { File.read("/proc/#{pid}/stat")[/\) (\w)/, 1] == "T" }
    yield
  ensure
    Process.kill(:CONT, pid)
  end

  def asleep?(pid)
    Dir["/proc/#{pid}/task/*/stat"].all? { |path| File.read(path)[/\) (\w)/, 1] == "S" }
  rescue SystemCallError # a thread has just ended
    false
  end

  def with_process
    call(nodes[0].port, "FLUSHALL")
    script = "$stdout.sync = true; " \
             "Plait::Shard::Proxy.open(nodes: #{addresses([nodes[0]])}, listen: '127.0.0.1:0') { |proxy| puts proxy.port; gets }"
    IO.popen([RbConfig.ruby, *Support::FLAGS, "-r", File.expand_path("../patience", __dir__), "-e", script], "r+") do |proxy|
      yield(Integer(proxy.gets), proxy.pid)
    ensure
      proxy.close_write
    end
  end
end
