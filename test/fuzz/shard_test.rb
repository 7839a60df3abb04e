# frozen_string_literal: true

require "io/wait"
require_relative "../c/sanitized"
require_relative "../protocols/resp/command_parser_cases"
require_relative "../shard/proxy/fake_nodes"
require_relative "../shard/proxy/random_commands"

# The data plane under ASan and UBSan, and under TSan: random commands of several clients are answered as one plain server answers
# them, while others send garbage, hang up and never read. PLAIT_FUZZ_SECONDS=600 goes on for longer.
class ShardFuzzTest < Minitest::Test
  include ShardNodes
  include FakeNodes

  SECONDS = Integer(ENV.fetch("PLAIT_FUZZ_SECONDS", "6"))
  SEED = Integer(ENV.fetch("PLAIT_SEED", "70"))
  TSAN = Sanitized::FLAGS.map { |flag| flag.sub("address,undefined", "thread") }.freeze
  # What nodes answer: right for some commands, wrong for most, and no replies at all.
  REPLIES = ["+OK\r\n", ":1\r\n", "$-1\r\n", "$3\r\nabc\r\n", "*1\r\n$1\r\na\r\n", "*2\r\n:1\r\n:0\r\n",
             "*2\r\n$1\r\n0\r\n*1\r\n$1\r\nk\r\n", "-ERR no\r\n", "*-1\r\n", "*0\r\n", "*2\r\n$-1\r\n:3\r\n",
             "$40000\r\n#{"v" * 40_000}\r\n",
             "*3\r\n#{"$70000\r\n#{"w" * 70_000}\r\n" * 3}", "$1", "?", "\r\n", "*99999999\r\n", ":x\r\n", ""].freeze
  ASKED = [%w[KEYS *], %w[SCAN 0], %w[SCAN 7 COUNT 3], %w[SCRIPT EXISTS a b], %w[DBSIZE], %w[RANDOMKEY], %w[FLUSHALL],
           %w[SCRIPT LOAD x], ["MGET", *("a".."z")], ["MGET", *Array.new(600) { |i| "k#{i}" }],
           ["MSET", *Array.new(900) { |i| i.to_s * 40 }],
           ["SET", "k", "v" * 150_000], ["GETRANGE", "k", "0", "1"], %w[COMMAND COUNT]].freeze
  PROGRAM = File.expand_path("../c/shard_program.c", __dir__)

  def hard_timeout = (SECONDS * 2) + 120

  def test_under_asan_and_ubsan = fuzz(Sanitized::FLAGS)

  def test_under_tsan = fuzz(TSAN)

  def test_nodes_that_misbehave_under_asan_and_ubsan = fuzz_odd_nodes(Sanitized::FLAGS)

  def test_nodes_that_misbehave_under_tsan = fuzz_odd_nodes(TSAN)

  private

  def fuzz(flags)
    Sanitized.build(PROGRAM, %w[shard placement resp], flags: flags) do |program|
      run_plane(program, nodes) do |port|
        [*Array.new(3) { |i| answered(port, i) }, *Array.new(2) { |i| disturbed(port, i) }].each(&:value)
      end
    end
  end

  # @yieldparam port [Integer]
  def run_plane(program, servers)
    servers.grep(Support::RedisServer).each { |server| call(server.port, "FLUSHALL") }
    call(plain.port, "FLUSHALL")
    log = "#{program}.log"
    IO.popen([program, "2", *servers.map { |server| server.port.to_s }, { err: log }], "r+") do |plane|
      yield(Integer(plane.gets))
      plane.close_write
      plane.read
    end
    assert_predicate(Process.last_status, :success?, File.read(log))
    assert_empty(File.read(log))
  end

  def fuzz_odd_nodes(flags)
    odd = Array.new(3) { |i| odd_node(Random.new(SEED + i)) }
    Sanitized.build(PROGRAM, %w[shard placement resp], flags: flags) do |program|
      run_plane(program, odd) { |port| Array.new(4) { |i| in_order(port, SEED + i) }.each(&:value) }
    end
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
      converse(port) { |ours| converse(plain.port) { |theirs| compare(ours, theirs, random) while going_on? } }
    end
  end

  def compare(ours, theirs, random)
    commands = random.commands
    expected = theirs.pipeline(commands)
    random.pieces(commands.map { |words| encode(*words) }.join).each { |piece| ours.write(piece) }
    commands.zip(expected) { |words, reply| assert_equal(reply, ours.reply, "PLAIT_SEED=#{SEED} #{words.inspect[0, 200]}") }
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
    bytes = bytes.byteslice(0, random.rand(bytes.bytesize)) + CommandParserCases::BAD.keys.sample(random: random)
    TCPSocket.open("127.0.0.1", port) do |socket|
      socket.write_nonblock(bytes, exception: false)
      socket.close_write if random.rand(2).zero?
      socket.wait_readable(0.01)
      socket.read_nonblock(100, exception: false) if random.rand(2).zero?
    end
  rescue SystemCallError
    nil
  end

  def going_on?
    @ends ||= now + SECONDS
    now < @ends
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
