# frozen_string_literal: true

require_relative "../shard/proxy/same_replies"
require "support/redis_cluster"
require_relative "shard_plane"

# The data plane before a cluster under ASan and UBSan, and under TSan, while slots move: it is told so late or not at all, so
# that nodes send it from one to another. Random commands are answered as one plain server answers them; beside them clients that
# hang up anywhere. On a slow machine it takes longer, until enough slots have moved.
class ShardClusterFuzzTest < Minitest::Test
  include ShardPlane
  include SameReplies

  SECONDS = Integer(ENV.fetch("PLAIT_FUZZ_SECONDS", "4"))
  SEED = Integer(ENV.fetch("PLAIT_SEED", "71"))
  DISTURBING = [
    %w[MULTI], %w[EXEC], %w[DISCARD], %w[WATCH d{1}], %w[UNWATCH], %w[SET d{1} 1], %w[INCR d{2}n], %w[BLPOP d{1}l 0.05],
    %w[BLPOP d{2}none 0], %w[LPUSH d{1}l x], %w[SSUBSCRIBE d{1}], %w[SUNSUBSCRIBE], %w[SPUBLISH d{1} x], %w[SUBSCRIBE c],
    %w[SCAN 0], %w[KEYS d*], %w[MGET d{1} d{2} d{3} d{4}], %w[SUNION {1}a {1}b {1}c], %w[HELLO 3], %w[RESET], %w[DBSIZE],
    ["SET", "d{1}", "v" * 200_000], ["MSET", *Array.new(60) { |i| ["d{#{i % 5}}#{i}", "v" * 3000] }.flatten]
  ].freeze

  # Moves at least, and seconds until which they may take.
  MOVES = 4
  PATIENCE = 120

  def hard_timeout = super + PATIENCE + 60

  def test_under_asan_and_ubsan = fuzz(ASAN)

  def test_under_tsan = fuzz(TSAN)

  private

  def fuzz(flags)
    @ends = nil
    @enough = false
    call(plain.port, "FLUSHALL")
    Support::RedisCluster.start(masters: 3) do |own|
      with_plane(flags, own.masters, threads: CLUSTER_THREADS, timeout: 60) do |port, plane|
        [*Array.new(3) { |i| answered(port, i) }, *Array.new(3) { |i| disturbed(port, i) }, moving(own, plane)].each(&:value)
      end
    end
    assert(@enough, "no node has sent anybody elsewhere in #{PATIENCE} s")
  end

  def going_on? = super || (!@enough && now < @ends + PATIENCE)

  def sent_elsewhere?(own)
    errors = own.masters.map { |server| own.call(server, "INFO", "errorstats") }.join
    %w[MOVED ASK].all? { |name| errors.include?("errorstat_#{name}:") }
  end

  # The plane hears of every other move.
  def moving(own, plane)
    Thread.new do
      random = Random.new(SEED)
      slots = Array.new(4) { |i| own.slot_of("{#{i + 1}}") } + Array.new(8) { |i| own.slot_of("0:#{i}") }
      moves = 0
      while going_on?
        slot = slots.sample(random: random)
        to = own.masters.reject { |server| server == own.owner(slot) }.sample(random: random)
        own.move(slot, to) { sleep(random.rand * 0.03) }
        plane.puts("#{slot} #{own.masters.index(to)}") if (moves += 1).even?
        @enough ||= moves >= MOVES && sent_elsewhere?(own)
      end
    end
  end

  # One that a slot on its way has cut off from the others may be asked to come again.
  def answered(port, number)
    Thread.new do
      random = RandomCommands.new(SEED + number, prefix: "#{number}:")
      converse(port) { |ours| converse(plain.port) { |theirs| compare(ours, theirs, random) while going_on? } }
    end
  end

  # (A value that is forwarded while it arrives is not kept.)
  def compare(ours, theirs, random)
    commands = random.commands.reject { |words| words.sum(&:bytesize) > 50_000 && words[0] == "SET" }
    assert_same_replies(ours, theirs, random, RandomCommands.apart(commands))
  end

  def disturbed(port, number)
    leaving(port, Random.new(SEED + number), DISTURBING) { |seen| refute_match(/-(MOVED|ASK) /, seen) }
  end
end
