# frozen_string_literal: true

require "io/wait"
require_relative "../protocols/resp_samples"
require_relative "../shard/proxy/encrypted_nodes"
require_relative "../shard/proxy/fake_nodes"
require_relative "../shard/proxy/same_replies"
require_relative "shard_plane"

# The data plane under ASan and UBSan, and under TSan: random commands of several clients are answered as one plain server answers
# them, while others send garbage, hang up and never read.
class ShardFuzzTest < Minitest::Test
  include ShardPlane
  include FakeNodes
  include SameReplies

  SECONDS = Integer(ENV.fetch("PLAIT_FUZZ_SECONDS", "3"))
  SEED = Integer(ENV.fetch("PLAIT_SEED", "70"))
  # What nodes answer: right for some commands, wrong for most, and no replies at all.
  REPLIES = ["+OK\r\n", ":1\r\n", "$-1\r\n", "$3\r\nabc\r\n", "*1\r\n$1\r\na\r\n", "*2\r\n:1\r\n:0\r\n",
             "*2\r\n$1\r\n0\r\n*1\r\n$1\r\nk\r\n", "-ERR no\r\n", "*-1\r\n", "*0\r\n", "*2\r\n$-1\r\n:3\r\n",
             "$40000\r\n#{"v" * 40_000}\r\n",
             "*3\r\n#{"$70000\r\n#{"w" * 70_000}\r\n" * 3}", "$1", "?", "\r\n", "*99999999\r\n", ":x\r\n", ""].freeze
  ASKED = [%w[KEYS *], %w[SCAN 0], %w[SCAN 7 COUNT 3], %w[SCRIPT EXISTS a b], %w[DBSIZE], %w[RANDOMKEY], %w[FLUSHALL],
           %w[SCRIPT LOAD x], ["MGET", *("a".."z")], ["MGET", *Array.new(600) { |i| "k#{i}" }],
           ["MSET", *Array.new(900) { |i| i.to_s * 40 }],
           ["SET", "k", "v" * 150_000], ["GETRANGE", "k", "0", "1"], %w[COMMAND COUNT]].freeze

  def test_under_asan_and_ubsan = fuzz(ASAN)

  def test_under_tsan = fuzz(TSAN)

  def test_nodes_that_misbehave_under_asan_and_ubsan = fuzz_odd_nodes(ASAN)

  def test_nodes_that_misbehave_under_tsan = fuzz_odd_nodes(TSAN)

  def test_tls_under_asan_and_ubsan = fuzz_tls(ASAN)

  def test_tls_under_tsan = fuzz_tls(TSAN)

  private

  def fuzz(flags)
    [*nodes, plain].each { |server| call(server.port, "FLUSHALL") }
    with_plane(flags, nodes) do |port|
      [*Array.new(3) { |i| answered(port, i) }, *Array.new(2) { |i| disturbed(port, i) }].each(&:value)
    end
  end

  # Those who disturb speak no TLS, or cut it off.
  def fuzz_tls(flags)
    skip("there are no headers of OpenSSL") if Sanitized::TLS.empty?
    @conversation = EncryptedNodes::Conversation
    [*nodes, plain].each { |server| call(server.port, "FLUSHALL") }
    with_plane(flags, nodes, tls: File.dirname(EncryptedNodes::Files.all["shard.pem"])) do |port|
      [*Array.new(3) { |i| answered(port, i) }, disturbed(port, 0), broken_off(port)].each(&:value)
    end
  end

  def broken_off(port)
    Thread.new do
      while going_on?
        client = @conversation.new(port, "127.0.0.1")
        client.write(encode("SET", "broken", "x" * 300_000) + (encode("GET", "broken") * 20))
        client.socket.to_io.close
      end
    end
  end

  def fuzz_odd_nodes(flags)
    odd = Array.new(3) { |i| odd_node(Random.new(SEED + i)) }
    with_plane(flags, odd, timeout: 0.5) { |port| Array.new(4) { |i| in_order(port, SEED + i) }.each(&:value) }
  end

  # In random cuts, early, late, too much, and then it hangs up.
  def odd_node(random)
    fake_node do |socket|
      rand = Random.new(random.rand(1 << 30))
      rand.rand(1..12).times do
        socket.readpartial(1 << rand.rand(4..17)) if rand.rand(6).positive?
        bytes = Array.new(rand.rand(3)) { REPLIES.sample(random: rand) }.join
        bytes = bytes.byteslice(0, rand.rand(bytes.bytesize + 1)) if rand.rand(4).zero?
        bytes.bytes.each_slice(rand.rand(1..100_000)).first(20).each { |piece| socket.write(piece.pack("C*")) }
      end
    end
  end

  # Whatever nodes say: each command has a reply, in order, or the connection ends.
  def in_order(port, seed)
    Thread.new do
      random = Random.new(seed)
      commands = RandomCommands.new(seed)
      serial = 0
      converse_in_order(port, random, commands, serial += 1) while going_on?
    end
  end

  def converse_in_order(port, random, commands, serial)
    converse(port) do |client|
      all = (commands.commands + ASKED.sample(2, random: random)).shuffle(random: random)
      marked = all.each_with_index.flat_map { |words, i| [words, ["ECHO", "#{serial}:#{i}"]] }
      client.write(marked.map { |words| encode(*words) }.join)
      marked.each do |words|
        reply = client.reply or break
        assert_equal("$#{words[1].bytesize}\r\n#{words[1]}\r\n", reply, "PLAIT_SEED=#{SEED}") if words[0] == "ECHO"
      end
    end
  rescue Plait::TruncatedError, Errno::ECONNRESET, Errno::EPIPE
    nil # an answer that broke off
  end

  def answered(port, number)
    Thread.new do
      random = RandomCommands.new(SEED + number, prefix: "#{number}:")
      ours = (@conversation || Support::RedisConversation).new(port, "127.0.0.1")
      converse(plain.port) { |theirs| assert_same_replies(ours, theirs, random) while going_on? }
      ours.close
    end
  end

  # Garbage, halves of commands, answers that nobody reads.
  def disturbed(port, number)
    Thread.new do
      random = Random.new(SEED + number)
      commands = RandomCommands.new(SEED - 1 - number, prefix: "d")
      disturb(port, random, commands) while going_on?
    end
  end

  def disturb(port, random, commands)
    bytes = commands.commands.map { |words| encode(*words) }.join
    bytes = bytes.byteslice(0, random.rand(bytes.bytesize)) + RESPSamples::BROKEN_COMMANDS.keys.sample(random: random)
    TCPSocket.open("127.0.0.1", port) do |socket|
      socket.write_nonblock(bytes, exception: false)
      socket.close_write if random.rand(2).zero?
      socket.wait_readable(0.01)
      socket.read_nonblock(100, exception: false) if random.rand(2).zero?
    end
  rescue SystemCallError
    nil
  end
end
