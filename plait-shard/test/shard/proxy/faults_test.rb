# frozen_string_literal: true

require "support/program"
require_relative "fake_nodes"

class ShardProxyFaultsTest < Minitest::Test
  include ShardNodes

  CROWD = 50
  BENCHMARK = Support::Program.new("redis-benchmark", "valkey-benchmark", apt: "redis-tools", brew: "redis")

  # So many clients that ask for the key again and again while the block runs.
  def with_crowd(proxy, key)
    command = [BENCHMARK.path!, "-p", proxy.port.to_s, "-c", CROWD.to_s, "-n", "100000000", "-q", "GET", key]
    pid = Process.spawn(*command, out: File::NULL, err: File::NULL)
    wait_until { proxy.figures[:clients] > CROWD }
    yield
  ensure
    pid && Process.kill(:KILL, pid) && Process.wait(pid)
  end

  # Its own, to be broken.
  def with_own_nodes(**options)
    servers = Array.new(3) { Support::RedisServer.start(config: { "busy-reply-threshold" => "0" }) }
    with_proxy(servers, retry: 0.05, **options) { |proxy| yield(proxy, servers, (0..2).map { |node| key_on(proxy, node) }) }
  ensure
    servers&.each { |server| server.signal(:CONT) if server.alive? }
    servers&.each(&:stop)
  end

  def test_a_node_is_killed
    with_own_nodes do |proxy, servers, keys|
      converse(proxy.port) do |redis|
        keys.each { |key| assert_equal("+OK\r\n", redis.call("SET", key, key)) }
        servers[1].kill
        replies = redis.pipeline(keys.map { |key| ["GET", key] } + [["PING"], ["MGET", *keys], ["MGET", keys[0], keys[2]]])
        assert_equal(["$4\r\n#{keys[0]}\r\n", "$4\r\n#{keys[2]}\r\n", "+PONG\r\n"], replies.values_at(0, 2, 3))
        [1, 4].each { |i| assert_match(/\A-ERR node 127.0.0.1:#{servers[1].port} /, replies[i]) }
        assert_equal("*2\r\n$4\r\n#{keys[0]}\r\n$4\r\n#{keys[2]}\r\n", replies[5])
        assert_operator(proxy.figures[:node_failures], :>, 0)
      end
    end
  end

  def test_a_node_comes_back
    with_own_nodes do |proxy, servers, keys|
      converse(proxy.port) do |redis|
        assert_equal("+OK\r\n", redis.call("SET", keys[1], "before"))
        servers[1].restart(:KILL) { assert_match(/\A-ERR node/, redis.call("GET", keys[1])) }
        wait_until { redis.call("SET", keys[1], "again") == "+OK\r\n" }
        assert_equal("$5\r\nagain\r\n", redis.call("GET", keys[1]))
      end
    end
  end

  def test_a_node_that_sleeps_is_given_up_and_the_others_go_on
    in_growing_times(2, 20) do |seconds|
      with_own_nodes(timeout: seconds) do |proxy, servers, keys|
        keys.each { |key| assert_equal("+OK\r\n", call(proxy.port, "SET", key, key)) }
        servers[1].signal(:STOP)
        converse(proxy.port) do |waiting|
          waiting.write(encode("GET", keys[1]) + encode("GET", keys[0]))
          20.times { assert_equal("$4\r\n#{keys[0]}\r\n", call(proxy.port, "GET", keys[0])) }
          assert_match(/\A-ERR node .* has sent nothing for #{seconds} s/, waiting.reply)
          assert_equal("$4\r\n#{keys[0]}\r\n", waiting.reply)
          servers[1].signal(:CONT)
          wait_until { waiting.call("GET", keys[1]) == "$4\r\n#{keys[1]}\r\n" }
        end
      end
    end
  end

  # Where many are at work, the first replies to a pipeline wait for those behind them: for a moment only.
  def test_what_is_answered_is_not_held_back_for_a_node_that_sleeps
    with_own_nodes(threads: 1, timeout: 60) do |proxy, servers, keys|
      converse(proxy.port) do |redis|
        redis.call("MGET", *keys)
        with_crowd(proxy, keys[0]) do
          servers[1].signal(:STOP)
          redis.write(encode("GET", keys[0]) + encode("GET", keys[1]))
          assert_equal("$-1\r\n", redis.reply)
          assert_operator(proxy.figures[:clients], :>, CROWD)
          servers[1].signal(:CONT)
        end
      end
    end
  end

  # Nobody is answered meanwhile, on whatever connection: what was sent is done behind the script, and nobody was told otherwise.
  def test_a_script_that_takes_longer_than_the_patience
    in_growing_times(0.5, 10) do |seconds|
      with_own_nodes(timeout: seconds) do |proxy, _, keys|
        converse(proxy.port) do |caller|
          redis = converse(proxy.port)
          caller.write(encode("EVAL", LONG_SCRIPT, "1", keys[1], (seconds * 4).to_s))
          wait_until { proxy.figures[:commands] == 1 }
          unknown = /has sent nothing for #{seconds} s; whether it has done what it was asked is unknown/
          assert_match(unknown, redis.call("SET", keys[1], "1"))
          assert_match(unknown, caller.reply)
          assert_match(/was silent and has not answered since; nothing was done/, redis.call("SET", keys[1], "2"))
          assert_equal("+OK\r\n", redis.call("SET", keys[0], "1"))
          wait_until(timeout: 40 + (seconds * 4)) { redis.call("GET", keys[1]).match?(/\A(\$1\r\n1|\$-1)\r\n\z/) }
          redis.close
        end
      end
    end
  end

  def test_a_node_that_never_was
    Plait::Shard::Proxy.open(nodes: ["127.0.0.1:#{CLOSED}"], listen: "127.0.0.1:0") do |proxy|
      converse(proxy.port) do |redis|
        replies = redis.pipeline([%w[GET a], %w[PING], %w[DEL a b]])
        assert_match(/\A-ERR node 127.0.0.1:#{CLOSED} can't be reached: Connection refused; nothing was done\r\n/, replies[0])
        assert_equal("+PONG\r\n", replies[1])
        assert_match(/\A-ERR node/, replies[2])
      end
    end
  end

  def test_a_node_that_speaks_something_else
    odd_node("HTTP/1.1 400\r\n\r\n") do |proxy|
      assert_match(/\A-ERR node .* has sent what is no reply/, call(proxy.port, "GET", "a"))
    end
  end

  # The client has a part of the answer: there is nothing right to say any more.
  def test_a_node_that_breaks_off_in_an_answer
    odd_node("$100\r\nabc") do |proxy|
      converse(proxy.port) do |redis|
        redis.write(encode("GET", "a"))
        assert_raises(Plait::TruncatedError) { redis.reply }
      end
      assert_equal("+PONG\r\n", call(proxy.port, "PING"))
    end
  end

  def test_clients_that_go_away
    with_proxy do |proxy|
      20.times do |i|
        converse(proxy.port) { |redis| redis.write((encode("SET", "k", "v" * 9000) * 30) + encode("GET", "k")[0, i]) }
      end
      wait_until { proxy.figures[:clients].zero? }
      assert_equal("+PONG\r\n", call(proxy.port, "PING"))
    end
  end

  def test_a_client_that_shuts_down_its_half_still_gets_its_answers
    with_proxy do |proxy|
      converse(proxy.port) do |redis|
        redis.write(encode("SET", "a", "1") + encode("MGET", "a", "b", "c", "d") + encode("GET", "a"))
        redis.socket.close_write
        assert_equal(["+OK\r\n", "*4\r\n$1\r\n1\r\n$-1\r\n$-1\r\n$-1\r\n", "$1\r\n1\r\n", nil], Array.new(4) { redis.reply })
      end
    end
  end

  def test_a_client_that_never_reads_is_cut_and_nobody_else_notices
    with_proxy(client_bytes: 4 << 20) do |proxy|
      call(proxy.port, "SET", "k", "v" * 1_000_000)
      TCPSocket.open("127.0.0.1", proxy.port) do |deaf|
        deaf.write(encode("GET", "k") * 50)
        20.times { assert_equal("+PONG\r\n", call(proxy.port, "PING")) }
        wait_until { proxy.figures[:clients].zero? }
      end
    end
  end

  private

  # A server that sends these bytes to whoever sends something, and hangs up.
  def odd_node(bytes, &block)
    server = TCPServer.new("127.0.0.1", 0)
    thread = Thread.new do
      while (socket = server.accept)
        FakeNodes.let_in(socket)
        socket.readpartial(1)
        socket.write(bytes)
        socket.close
      end
    rescue IOError, SystemCallError
      nil
    end
    Plait::Shard::Proxy.open(nodes: ["127.0.0.1:#{server.addr[1]}"], listen: "127.0.0.1:0", &block)
  ensure
    server.close
    thread.join
  end
end
