# frozen_string_literal: true

require "open3"
require "rbconfig"
require_relative "fake_nodes"

# Nodes that break off, answer early or something else: whoever asked is told so, in its place, and nobody gets another's bytes.
class ShardProxyOddNodesTest < Minitest::Test
  include ShardNodes
  include FakeNodes

  def test_one_that_breaks_off_in_its_error
    with_fakes(odd_node("-ERR half"), answering_node("*1\r\n$-1\r\n")) do |proxy, keys|
      converse(proxy.port) do |client|
        client.write(encode("MGET", *keys) + encode("PING"))
        assert_match(/\A-ERR node .* has closed the connection; .* unknown\r\n\z/, client.reply)
        assert_equal("+PONG\r\n", client.reply)
      end
    end
  end

  # DEBUG PROTOCOL of Redis sends one before its answer.
  def test_pushes_without_a_subscription_answer_no_command
    pushing = fake_node do |socket|
      while socket.readpartial(1 << 16)
        socket.write(">2\r\n$4\r\nodd1\r\n:1\r\n+fine\r\n>2\r\n$4\r\n")
        sleep(0.02)
        socket.write("odd2\r\n*1\r\n:2\r\n")
      end
    end
    with_fakes(pushing) do |proxy, keys|
      converse(proxy.port) { |client| assert_equal(["+fine\r\n"] * 3, Array.new(3) { client.call("GET", keys[0]) }) }
      assert_equal(0, proxy.figures[:node_failures])
    end
  end

  def test_an_answer_that_is_whole_arrives_before_one_that_is_cut
    late = fake_node do |socket|
      socket.readpartial(1000)
      sleep(0.1)
      socket.write("+OK\r\n")
      socket.read
    end
    with_fakes(late, odd_node("$100\r\nabc")) do |proxy, keys|
      converse(proxy.port) do |client|
        client.write(encode("SET", keys[0], "v") + encode("GET", keys[1]) + encode("PING"))
        assert_equal("+OK\r\n", client.reply)
        assert_match(/\A-ERR node .* unknown\r\n\z/, client.reply)
        assert_equal("+PONG\r\n", client.reply)
      end
    end
  end

  def test_what_is_under_way_arrives_before_the_connection_ends
    gate = Queue.new
    broken = fake_node do |socket|
      socket.readpartial(1000)
      socket.write("+OK\r\n$100\r\nabc")
      gate.pop
    end
    with_fakes(broken) do |proxy, keys|
      converse(proxy.port) do |client|
        client.write(encode("SET", keys[0], "v") + encode("GET", keys[0]) + encode("PING"))
        assert_equal("+OK\r\n", client.reply)
        gate.close
        error = assert_raises(Plait::TruncatedError) { client.reply }
        assert_match(/truncated|ended/, error.message)
      end
    end
  end

  # To a command of which it has read a part only.
  def test_one_that_answers_early
    seen = Queue.new
    early = fake_node do |socket|
      seen << (bytes = +"")
      bytes << socket.readpartial(300_000)
      socket.write("-ERR max number of clients reached\r\n")
      loop { bytes << socket.readpartial(300_000) }
    end
    with_fakes(early) do |proxy, keys|
      first, second = Array.new(2) { Support::RedisConversation.new(proxy.port, "127.0.0.1") }
      [[first, "a"], [second, "b"]].each do |client, byte|
        client.write(encode("SET", keys[0], byte * 300_000)[0, 2000])
        assert_match(/\A-ERR max number/, client.reply)
      end
      first.write("a" * 100_000)
      assert_equal("+PONG\r\n", call(proxy.port, "PING"))
      assert(Array.new(seen.size) { seen.pop }.none? { |bytes| bytes.include?("aaaa") && bytes.include?("bbbb") }, "crossed")
    ensure
      [first, second].each(&:close)
    end
  end

  # The kernel may choose, for a connection to a port of its own choice where nobody listens, just that one: with few to choose
  # from it soon does. Commands would then come back as their own replies.
  def test_a_connection_to_itself_is_none
    script = <<~RUBY
      require "plait/shard"
      Plait::Shard::Proxy.open(nodes: ["127.0.0.1:40004"], listen: "127.0.0.1:50000", retry: 0,
                               connect_timeout: 20) do |proxy|
        client = TCPSocket.new("127.0.0.1", proxy.port)
        replies = Array.new(300) { client.write("*2\\r\\n$3\\r\\nGET\\r\\n$1\\r\\nk\\r\\n") && client.gets }
        puts replies.map { |reply| reply[/refused/] || reply }.uniq
      end
    RUBY
    assert_equal("refused\n", alone(script).lines.last)
    refute_match(/GET/, alone(script))
  end

  SHAPES = {
    %w[MGET] => "*2\r\n$1\r\na\r\n$1\r\nb\r\n", %w[DEL] => "+OK\r\n", %w[EXISTS] => ":\r\n", %w[TOUCH] => ": 5\r\n"
  }.freeze
  SHAPES_OF_ALL = {
    %w[KEYS *] => "*-1\r\n", %w[SCAN 0] => "*0\r\n", %w[SCAN 1] => "*2\r\n:0\r\n*0\r\n", %w[FLUSHALL] => "*0\r\n",
    %w[DBSIZE] => "$1\r\n1\r\n", %w[SCRIPT EXISTS x] => "*-1\r\n"
  }.freeze

  def test_shapes_that_do_not_fit
    [*SHAPES, *SHAPES_OF_ALL].each do |words, bytes|
      with_fakes(answering_node(bytes), answering_node(bytes)) do |proxy, keys|
        reply = call(proxy.port, *words, *(keys if SHAPES.key?(words)))
        assert_match(/\A-ERR a node has answered with something else/, reply, words.first)
      end
    end
  end

  # It waits behind what the node does not take, and goes to the next connection.
  def test_what_was_not_sent_is_asked_anew
    gate = Queue.new
    connections = Queue.new
    node = fake_node do |socket|
      next if socket.recv(64, Socket::MSG_PEEK).include?("INFO") # of the survey

      gate.pop if connections.push(1).size == 1
      socket.write("$1\r\nv\r\n") while connections.size > 1 && socket.readpartial(1000)
    end
    with_fakes(node) do |proxy, keys|
      converse(proxy.port) do |large|
        large.socket.write(encode("LPUSH", keys[0], "x" * 30_000_000, "y"))
        wait_until { proxy.figures[:commands] == 1 }
        converse(proxy.port) do |small|
          small.write(encode("GET", keys[0]))
          wait_until { proxy.figures[:commands] == 2 }
          gate << :hang_up
          assert_equal("$1\r\nv\r\n", small.reply)
        end
        assert_match(/\A-ERR node .* unknown\r\n/, large.reply)
      end
    end
  end

  def test_one_that_was_silent_is_waited_for_once
    with_fakes(silent_node, timeout: 0.2, retry: 0.05) do |proxy, keys|
      converse(proxy.port) do |client|
        assert_match(/has sent nothing for 0.2 s/, client.call("GET", keys[0]))
        20.times { assert_match(/was silent and has not answered since; nothing was done/, client.call("GET", keys[0])) }
      end
    end
  end

  def test_a_script_exists_where_all_have_it
    with_fakes(answering_node("*2\r\n:1\r\n:1\r\n"), answering_node("*2\r\n:1\r\n:0\r\n")) do |proxy, _|
      assert_equal("*2\r\n:1\r\n:0\r\n", call(proxy.port, "SCRIPT", "EXISTS", "a", "b"))
    end
  end

  private

  # @return [String] what Ruby prints in a network of its own, with few ports
  def alone(script)
    command = "ip link set lo up && echo '40000 40009' > /proc/sys/net/ipv4/ip_local_port_range && exec \"$@\""
    output, status = Open3.capture2e("unshare", "--map-root-user", "--net", "sh", "-c", command, "sh", RbConfig.ruby,
                                     *Support::FLAGS, "-e", script)
    skip("a network of its own is needed: #{output[0, 100]}") if !status.success? && output.match?(/unshare|ip:|permitted|denied/)
    output
  rescue Errno::ENOENT
    skip("unshare is needed")
  end
end
