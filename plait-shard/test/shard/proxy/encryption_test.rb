# frozen_string_literal: true

require_relative "encrypted_nodes"
require_relative "random_commands"

class ShardProxyEncryptionTest < Minitest::Test
  include EncryptedNodes

  def test_clients_over_tls
    encrypted do |proxy|
      [OpenSSL::SSL::TLS1_2_VERSION, OpenSSL::SSL::TLS1_3_VERSION].each do |version|
        secure(proxy.port, version: version) do |client|
          assert_equal("+OK\r\n", client.call("MSET", "a", "1", "b", "2", "c", "3"))
          assert_equal("*3\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n", client.call("MGET", "a", "b", "c"))
          assert_equal("+OK\r\n", client.call("QUIT"))
          assert_nil(client.socket.read(1)) # behind a close_notify: without it, OpenSSL would raise
        end
      end
    end
  end

  # What is larger than a record, than the chunk, than what a thread reads at once, and than what a socket takes.
  def test_large_values
    encrypted do |proxy|
      secure(proxy.port) do |client|
        [16_383, 16_384, 16_385, 262_144, 5_000_001].each do |size|
          value = Random.new(size).bytes(size)
          assert_equal("+OK\r\n", client.call("SET", "k", value))
          assert_equal("$#{size}\r\n#{value}\r\n".b, client.call("GET", "k"))
        end
      end
    end
  end

  # Replies pile up while nobody reads, and commands in OpenSSL's own buffer while the client is not read from.
  def test_a_client_that_reads_late
    encrypted do |proxy|
      value = "v" * 100_000
      secure(proxy.port) do |client|
        client.call("SET", "k", value)
        sender = Thread.new { client.socket.write(encode("GET", "k") * 2000) }
        wait_until { proxy.figures[:commands] > 3 && steady?(proxy) }
        2000.times { |i| assert_equal("$100000\r\n#{value}\r\n", client.reply, i) }
        sender.join
      end
    end
  end

  # The goodbye is read together with the command, and nothing comes behind it: the socket stays open.
  def test_a_goodbye_right_behind_a_command
    encrypted do |proxy|
      secure(proxy.port) do |client|
        client.call("PING") # what the handshake has left is read
        client.socket.to_io.setsockopt(:TCP, :CORK, true)
        client.socket.write(encode("SET", "k", "v"))
        client.socket.send(:stop)
        client.socket.to_io.setsockopt(:TCP, :CORK, false)
        wait_until { proxy.figures[:clients].zero? }
        assert_equal("$1\r\nv\r\n", secure(proxy.port) { |other| other.call("GET", "k") })
      end
    end
  end

  def test_random_commands_in_random_pieces
    encrypted(threads: 2) do |proxy|
      call(plain.port, "FLUSHALL")
      random = RandomCommands.new(33)
      secure(proxy.port) { |ours| converse(plain.port) { |theirs| 20.times { compare(ours, theirs, random) } } }
    end
  end

  def test_a_client_that_has_to_show_a_certificate
    encrypted(client_ca: files["ca.pem"]) do |proxy|
      secure(proxy.port, certificate: "client") { |client| assert_equal("+PONG\r\n", client.call("PING")) }
      [nil, "stranger"].each do |certificate|
        assert_raises(OpenSSL::SSL::SSLError, SystemCallError, Plait::TruncatedError) do
          secure(proxy.port, certificate: certificate) { |client| client.call("PING") or raise Errno::ECONNRESET }
        end
      end
    end
  end

  def test_a_session_is_gone_on_with
    encrypted(client_ca: files["ca.pem"]) do |proxy|
      session = secure(proxy.port, certificate: "client") { |client| client.call("PING").then { client.socket.session } }
      secure(proxy.port, certificate: "client", session: session) do |client|
        assert_predicate(client.socket, :session_reused?)
        assert_equal("+PONG\r\n", client.call("PING"))
      end
    end
  end

  def test_who_does_not_speak_tls
    encrypted do |proxy|
      socket = TCPSocket.new("127.0.0.1", proxy.port)
      socket.write("PING\r\n")
      socket.read # an alert, and the end
      socket.close
      secure(proxy.port) { |client| assert_equal("+PONG\r\n", client.call("PING")) }
      wait_until { proxy.figures[:clients].zero? }
    end
  end

  def test_who_goes_without_a_word
    encrypted do |proxy|
      10.times { |i| TCPSocket.new("127.0.0.1", proxy.port).tap { |socket| socket.write("\x16\x03\x01"[0, i % 4]) }.close }
      10.times { secure(proxy.port).socket.to_io.close }
      wait_until { proxy.figures.values_at(:accepted, :clients) == [20, 0] }
    end
  end

  def test_nodes_over_tls
    with_encrypted_nodes do |servers|
      Plait::Shard::Proxy.open(nodes: addresses(servers), listen: "127.0.0.1:0", threads: 2, **for_nodes) do |proxy|
        converse(proxy.port) { |client| use(client) }
        assert_equal([true, true], proxy.nodes.map { |node| node[:up] })
        assert_equal(0, proxy.figures[:node_failures])
      end
    end
  end

  def test_nodes_that_come_back_and_both_sides_at_once
    with_encrypted_nodes do |servers|
      Plait::Shard::Proxy.open(nodes: addresses(servers), retry: 0.05, **for_clients, **for_nodes) do |proxy|
        secure(proxy.port) do |client|
          use(client)
          servers[0].restart(:KILL) { wait_until { proxy.figures[:node_failures].positive? } }
          wait_until { client.call("MSET", "a", "1", "b", "2", "c", "3", "d", "4") == "+OK\r\n" }
          use(client)
        end
      end
    end
  end

  # The certificate is for 127.0.0.1 and redis.internal.
  def test_a_node_that_is_not_who_it_should_be
    with_encrypted_nodes do |servers|
      { { node_name: "redis.internal" } => /\A\+PONG|\A\$-1/, { node_name: "other.internal" } => /certificate: hostname mismatch/,
        { node_ca: files["stranger.pem"] } => /its certificate: (self-signed|unable to get)/ }.each do |options, said|
        Plait::Shard::Proxy.open(nodes: addresses(servers), listen: "127.0.0.1:0", **for_nodes, **options) do |proxy|
          assert_match(said, call(proxy.port, "GET", "k"))
          assert_equal(options == { node_name: "redis.internal" }, proxy.nodes.all? { |node| node[:up] })
        end
      end
    end
  end

  def test_a_node_that_speaks_plainly
    Plait::Shard::Proxy.open(nodes: addresses, listen: "127.0.0.1:0", node_tls: true, connect_timeout: 0.3) do |proxy|
      assert_match(/\A-ERR node .* does not shake hands over TLS within 0.3 s; nothing was done/, call(proxy.port, "GET", "k"))
    end
  end

  def test_keys_are_moved_over_tls
    with_encrypted_nodes do |servers|
      Plait::Shard::Proxy.open(nodes: addresses(servers).first(1), listen: "127.0.0.1:0", **for_nodes) do |proxy|
        100.times { |i| call(proxy.port, "SET", "key#{i}", "v#{i}" * 1000) }
        proxy.reshard(nodes: addresses(servers), **for_nodes)
        100.times { |i| assert_equal("$#{(i.to_s.size + 1) * 1000}", call(proxy.port, "GET", "key#{i}").lines.first.chomp) }
      end
    end
  end

  def test_wrong_options
    { { listen: "tls://127.0.0.1:0" } => /needs cert:/, for_clients(listen: "127.0.0.1:0") => /only with listen: tls/,
      for_clients(cert: "/nowhere") => /cert: is a file of PEM/, for_clients(key: files["node.key"]) => /key: .*can't be used/,
      for_clients(cert: files["node.key"]) => /cert: .*can't be used/, { node_ca: files["ca.pem"] } => /node_ca: needs node_tls/,
      { node_tls: 1 } => /node_tls: is true or false/, { node_tls: true, node_key: files["ca.key"] } => /needs node_cert/ }
      .each do |options, message|
        error = assert_raises(Plait::UsageError) { Plait::Shard::Proxy.new(nodes: ["127.0.0.1:1"], **options).start.stop }
        assert_match(message, error.message)
      end
  end

  private

  def for_nodes
    { node_tls: true, node_ca: files["ca.pem"], node_cert: files["client.pem"], node_key: files["client.key"] }
  end

  def with_encrypted_nodes
    servers = Array.new(2) { Server.start(files) }
    yield servers
  ensure
    servers&.each(&:stop)
  end

  def use(client)
    assert_equal("+OK\r\n", client.call("MSET", "a", "1", "b", "2", "c", "3", "d", "4"))
    assert_equal("*4\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n$1\r\n4\r\n", client.call("MGET", "a", "b", "c", "d"))
    assert_equal("+OK\r\n", client.call("SET", "large", "x" * 3_000_000))
    assert_equal("$3000000\r\n#{"x" * 3_000_000}\r\n", client.call("GET", "large"))
    assert_equal(["+OK\r\n", "+QUEUED\r\n", "*1\r\n$1\r\n1\r\n"], client.pipeline([%w[MULTI], %w[GET a], %w[EXEC]]))
    assert_equal("*-1\r\n", client.call("BLPOP", "nothing", "0.05"))
  end

  def compare(ours, theirs, random)
    commands = random.commands
    expected = theirs.pipeline(commands)
    random.pieces(commands.map { |words| encode(*words) }.join).each { |piece| ours.write(piece) }
    commands.zip(expected) { |words, reply| assert_equal(reply, ours.reply, words.inspect[0, 200]) }
  end

  # Nothing has come for a while: whoever sends is not read from.
  def steady?(proxy)
    before = proxy.figures[:commands]
    sleep(0.2)
    proxy.figures[:commands] == before
  end
end
