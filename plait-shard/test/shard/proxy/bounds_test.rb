# frozen_string_literal: true

require_relative "fake_nodes"

# What clients and nodes can make the proxy hold.
class ShardProxyBoundsTest < Minitest::Test
  include ShardNodes
  include FakeNodes

  VALUE = "$1000000\r\n#{"x" * 1_000_000}\r\n".freeze

  # What waits for a node that sleeps counts as what a client does not read.
  def test_answers_behind_one_that_does_not_come
    with_fakes(silent_node, answering_node(VALUE * 8), client_bytes: 2_000_000) do |proxy, keys|
      converse(proxy.port) do |client|
        client.write(encode("GET", keys[0]) + (encode("GET", keys[1]) * 8))
        wait_until { proxy.figures[:clients].zero? }
        assert_nil(client.reply)
      end
    end
  end

  def test_parts_of_an_answer_behind_one_that_does_not_come
    with_fakes(silent_node, answering_node("*8\r\n#{VALUE * 8}"), client_bytes: 2_000_000) do |proxy, keys|
      others = (0..).lazy.map { |i| "key#{i}" }.select { |key| proxy.placement.node_for(key) == 1 }.first(8)
      converse(proxy.port) do |client|
        client.write(encode("MGET", keys[0], *others))
        wait_until { proxy.figures[:clients].zero? }
      end
    end
  end

  # Of whoever holds most; those who hold little are served.
  def test_what_all_clients_of_a_thread_hold_together
    exact = fake_node do |socket|
      loop { socket.write(VALUE * socket.readpartial(1 << 16).scan("GET").size) }
    end
    with_fakes(silent_node, exact, thread_bytes: 5_000_000) do |proxy, keys|
      greedy = Array.new(4) { |i| holding(proxy.port, keys, i < 2 ? 1 : 3) }
      wait_until { proxy.figures[:clients_cut].positive? }
      converse(proxy.port) { |client| assert_equal("+PONG\r\n", client.call("PING")) }
      greedy.each(&:close)
    end
  end

  def test_commands_that_are_not_whole_count
    with_proxy(thread_bytes: 3_000_000, strategy: :strict) do |proxy|
      halves = Array.new(5) do
        Support::RedisConversation.new(proxy.port, "127.0.0.1").tap do |client|
          client.socket.write("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$900000\r\n#{"x" * 899_000}")
        rescue Errno::ECONNRESET, Errno::EPIPE
          nil # it was cut
        end
      end
      wait_until { proxy.figures[:clients_cut].positive? }
      assert_equal("+OK\r\n", call(proxy.port, "SET", "k", "v"))
      halves.each(&:close)
    end
  end

  # What is known of a command while it is not answered is several times as long as that.
  def test_commands_that_are_not_answered_count
    with_fakes(silent_node, silent_node, thread_bytes: 3_000_000, timeout: 60) do |proxy, keys|
      clients = Array.new(10) { converse(proxy.port) }
      clients.each { |client| client.socket.write(encode("MGET", *(keys * 10)) * 1000) }
      wait_until { proxy.figures[:clients_cut].positive? }
      clients.each(&:close)
    end
  end

  def test_messages_that_are_not_whole_count
    speaking = fake_node do |socket|
      socket.readpartial(1000)
      socket.write("*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1000000\r\n#{"x" * 900_000}")
      socket.read
    end
    with_fakes(speaking, thread_bytes: 3_000_000, timeout: 60) do |proxy, _|
      clients = Array.new(5) { converse(proxy.port).tap { |client| client.write(encode("SUBSCRIBE", "c")) } }
      wait_until { proxy.figures[:clients_cut].positive? }
      clients.each(&:close)
    end
  end

  # Nobody is cut for what a node does not take; nothing more is kept for it.
  def test_what_nodes_do_not_take
    with_fakes(fake_node { |socket| sleep if socket }, thread_bytes: 3_000_000) do |proxy, keys|
      clients = Array.new(20) { Support::RedisConversation.new(proxy.port, "127.0.0.1") }
      sent = 0
      refused = nil
      clients.each do |client| # one whole command after another: parts of many would be too much by themselves
        sent += client.socket.write(encode("LPUSH", keys[0], "x" * 900_000, "y"))
        wait_until { proxy.figures[:bytes_in] >= sent }
        break if (refused = clients.find { |one| one.socket.wait_readable(0) })
      end
      wait_until { refused ||= clients.find { |one| one.socket.wait_readable(0) } }
      assert_match(/behind, and the shard has no room for more; nothing was done/, refused.reply)
      assert_equal(0, proxy.figures[:clients_cut])
      clients.each(&:close)
    end
  end

  def test_what_a_subscriber_sends_to_a_node_that_sleeps
    assert_bounded_while_asleep(%w[SUBSCRIBE c], ["PING", "x" * 10_000])
  end

  def test_what_a_client_that_watches_sends_to_a_node_that_sleeps
    assert_bounded_while_asleep(%w[WATCH k], ["SET", "k", "x" * 10_000])
  end

  # What 270,000 commands need while they are not answered is more than 50 MB.
  def test_memory_goes_back_when_many_commands_are_answered
    asked = Queue.new
    answers = Queue.new
    late = fake_node do |socket|
      left = 30 * 9000 * encode("GET", "key0").bytesize
      left -= socket.readpartial(1 << 16).bytesize while left.positive?
      asked.push(true)
      socket.write(answers.pop)
      socket.read
    end
    with_fakes(late, timeout: 60) do |proxy, _|
      before = resident
      clients = Array.new(30) { converse(proxy.port).socket.tap { |socket| socket.write(encode("GET", "key0") * 9000) } }
      asked.pop
      # Pages that an earlier test has freed, and malloc has kept, are used first.
      assert_operator(resident, :>, before + (40 << 20)) if before < 100 << 20
      answers.push("$-1\r\n" * 30 * 9000)
      clients.each { |socket| assert_equal(45_000, socket.read(45_000).bytesize) && socket.close }
      wait_until { GC.start || resident < before + (15 << 20) }
    end
  end

  def test_who_reads_is_not_cut_however_much_it_gets
    fakes = Array.new(2) { answering_node("*10\r\n#{VALUE * 10}") }
    with_fakes(*fakes, client_bytes: 2_000_000) do |proxy, _|
      converse(proxy.port) { |client| assert_equal("*20\r\n#{VALUE * 20}", client.call("KEYS", "*")) }
    end
  end

  def test_many_keys_take_little_memory
    with_proxy do |proxy|
      converse(proxy.port) do |client|
        50.times { |i| client.call("MSET", *Array.new(2000) { |j| ["#{"k" * 100}#{i}:#{j}", "v"] }.flatten) }
        keys = measured(8) { client.call("KEYS", "*") }
        assert_equal(100_000, keys[/\A\*(\d+)/, 1].to_i)
      end
    end
  end

  def test_what_takes_long_is_asked_on_connections_of_its_own_and_may_take_longer
    in_growing_times(1, 10) do |seconds|
      busy = fake_node do |socket|
        asked = socket.readpartial(1000)
        sleep(seconds * 2) if asked.include?("FLUSHALL")
        socket.write("+OK\r\n")
        socket.read
      end
      with_fakes(busy, timeout: seconds) do |proxy, keys|
        converse(proxy.port) do |client|
          client.write(encode("FLUSHALL"))
          wait_until { proxy.figures[:commands] == 1 }
          assert_equal("+OK\r\n", call(proxy.port, "SET", keys[0], "v"))
          assert_equal("+OK\r\n", client.reply)
        end
      end
    end
  end

  def test_an_mget_of_many_values_takes_little_memory
    with_proxy do |proxy|
      keys = Array.new(2500) { |i| "key#{i}" }
      converse(proxy.port) do |client|
        keys.each_slice(100) { |some| client.call("MSET", *some.flat_map { |key| [key, key * 1500] }) }
        size = measured(8) { discard(client, encode("MGET", *keys)) }
        assert_equal("*2500\r\n".size + keys.sum { |key| "$#{key.size * 1500}\r\n\r\n".size + (key.size * 1500) }, size)
        assert_equal("+PONG\r\n", client.call("PING"))
      end
    end
  end

  def test_keys_are_asked_for_on_connections_of_their_own
    busy = fake_node do |socket|
      socket.readpartial(1000).include?("KEYS") ? socket.read : socket.write("+OK\r\n")
      socket.read
    end
    with_fakes(busy) do |proxy, keys|
      converse(proxy.port) do |client|
        client.write(encode("KEYS", "*"))
        wait_until { proxy.figures[:commands] == 1 }
        assert_equal("+OK\r\n", call(proxy.port, "SET", keys[0], "v"))
      end
    end
  end

  # More senders than there are connections for: the others wait, and those who send nothing make room.
  def test_half_of_large_values_from_many_clients
    in_growing_times(1, 10) do |seconds|
      with_proxy(timeout: seconds) do |proxy|
        key = key_on(proxy, 0)
        idle = Array.new(80) { Support::RedisConversation.new(proxy.port, "127.0.0.1") }
        idle.each { |client| client.write(encode("SET", key, "v" * 100_000)[0, 1000]) }
        assert_equal("+OK\r\n", call(proxy.port, "SET", key, "w" * 100_000))
        connections = call(nodes[0].port, "CLIENT", "LIST").lines.size
        assert_operator(connections, :<, 70)
        idle.each(&:close)
      end
    end
  end

  # Clients that don't read their large answers make room for the others.
  def test_many_clients_that_do_not_read
    in_growing_times(3, 30) do |seconds|
      with_proxy(nodes.first(1), timeout: seconds, threads: 1) do |proxy|
        call(nodes[0].port, "EVAL", "for i = 1, 30000 do redis.call('SET', string.rep('k', 400) .. i, 1) end", "0")
        deaf = Array.new(64) { deaf_client(proxy.port).tap { |socket| socket.write(encode("KEYS", "*")) } }
        wait_until { proxy.figures[:commands] == 64 }
        assert_equal("+OK\r\n", call(proxy.port, "SET", "key", "v" * 2_000_000))
        deaf.each(&:close)
      end
    end
  ensure
    call(nodes[0].port, "FLUSHALL")
  end

  private

  def deaf_client(port)
    socket = Socket.new(:INET, :STREAM)
    socket.setsockopt(:SOCKET, :RCVBUF, 4096)
    socket.connect(Addrinfo.tcp("127.0.0.1", port))
    socket
  end

  # Not much more is read from the client than the kernel holds for the node; all of it is done when that wakes up.
  def assert_bounded_while_asleep(first, command)
    server = Support::RedisServer.start
    with_proxy([server], timeout: 60) do |proxy|
      converse(proxy.port) do |client|
        client.call(*first)
        server.signal(:STOP)
        sender = Thread.new { 3000.times { client.socket.write(encode(*command)) } }
        steady { proxy.figures[:bytes_in] }
        assert_operator(proxy.figures[:bytes_in], :<, 20_000_000)
        server.signal(:CONT)
        3000.times { |i| assert_match(/\A(\+OK|\*2\r\n\$4\r\npong)/, client.reply, i) }
        sender.join
      end
    end
  ensure
    server&.signal(:CONT)
    server&.stop
  end

  # Waits until it grows no longer.
  def steady
    before = nil
    wait_until do
      former = before
      before = yield
      sleep(0.3)
      before == former
    end
  end

  # A client for which so many answers are kept, behind one that does not come.
  def holding(port, keys, count)
    Support::RedisConversation.new(port, "127.0.0.1").tap do |client|
      client.socket.write(encode("GET", keys[0]) + (encode("GET", keys[1]) * count))
    end
  end

  # Into one buffer: what the collector has not come round to is no memory of the proxy's.
  # @return [Integer] bytes of the answer
  def discard(client, bytes)
    buffer = +""
    client.socket.write(bytes)
    header = client.socket.gets("\r\n")
    values = header[1..].to_i
    size = header.bytesize
    values.times do
      line = client.socket.gets("\r\n")
      size += line.bytesize + client.socket.read(line[1..].to_i + 2, buffer).bytesize
    end
    size
  end

  # @param most [Integer] MiB that this process may grow by, the bytes that the block itself returns not counted
  def measured(most)
    GC.start
    File.write("/proc/self/clear_refs", "5")
    before = peak
    result = yield
    own = result.is_a?(String) ? result.bytesize * 4 : 0
    assert_operator(peak - before - own, :<, most << 20)
    result
  end

  def peak = memory("VmHWM")

  def resident = memory("VmRSS")

  def memory(name) = Integer(File.read("/proc/self/status")[/^#{name}:\s+(\d+)/, 1]) * 1024
end
