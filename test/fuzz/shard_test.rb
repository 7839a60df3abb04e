# frozen_string_literal: true

require "io/wait"
require_relative "../c/sanitized"
require_relative "../protocols/resp/command_parser_cases"
require_relative "../shard/proxy/nodes"
require_relative "../shard/proxy/random_commands"

# The data plane under ASan and UBSan, and under TSan: random commands of several clients are answered as one plain server answers
# them, while others send garbage, hang up and never read. PLAIT_FUZZ_SECONDS=600 goes on for longer.
class ShardFuzzTest < Minitest::Test
  include ShardNodes

  SECONDS = Integer(ENV.fetch("PLAIT_FUZZ_SECONDS", "6"))
  SEED = Integer(ENV.fetch("PLAIT_SEED", "70"))
  PROGRAM = File.expand_path("../c/shard_program.c", __dir__)

  def hard_timeout = (SECONDS * 2) + 120

  def test_under_asan_and_ubsan = fuzz(Sanitized::FLAGS)

  def test_under_tsan
    fuzz(Sanitized::FLAGS.map { |flag| flag.sub("address,undefined", "thread") })
  end

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
    servers.each { |server| call(server.port, "FLUSHALL") }
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
