# frozen_string_literal: true

require_relative "shard_plane"

# Transactions, watched keys, waiting, subscriptions and RESP3 under ASan and UBSan, and under TSan: random sequences, cut
# anywhere, of clients that go away anywhere, over nodes that die; beside them clients whose answers must stay right.
class ShardSessionsFuzzTest < Minitest::Test
  include ShardPlane

  SECONDS = Integer(ENV.fetch("PLAIT_FUZZ_SECONDS", "4"))
  SEED = Integer(ENV.fetch("PLAIT_SEED", "90"))
  COMMANDS = [
    %w[MULTI], %w[EXEC], %w[DISCARD], %w[WATCH a], %w[WATCH a b c], %w[UNWATCH], %w[SET a 1], %w[GET b], %w[MGET a b c d e],
    %w[PING], %w[BLPOP l 0.01], %w[BLPOP none 0], %w[LPUSH l x y z], %w[SUBSCRIBE c d], %w[PSUBSCRIBE c*], %w[UNSUBSCRIBE],
    %w[PUNSUBSCRIBE], %w[SSUBSCRIBE s], %w[SUNSUBSCRIBE], %w[PUBLISH c text], ["PUBLISH", "c", "x" * 100_000], %w[HELLO 3],
    %w[HELLO 2], %w[RESET], %w[AUTH user x], %w[INFO], %w[CONFIG GET *], %w[SCRIPT EXISTS x], %w[CLIENT INFO],
    %w[CLIENT SETNAME me], %w[NONSENSE], %w[SET], %w[HGETALL h], %w[QUIT], ["SET", "a", "v" * 200_000],
    ["MSET", *Array.new(60) { |i| ["m#{i}", "v" * 3000] }.flatten]
  ].freeze

  def test_under_asan_and_ubsan = fuzz(ASAN)

  def test_under_tsan = fuzz(TSAN)

  private

  def fuzz(flags)
    servers = Array.new(2) { Support::RedisServer.start }
    with_plane(flags, servers) do |port|
      [*Array.new(4) { |i| disturbed(port, i) }, *Array.new(2) { |i| answered(port, "own#{i}") }, killed(servers)].each(&:value)
    end
  ensure
    servers&.each(&:stop)
  end

  def disturbed(port, number) = leaving(port, Random.new(SEED + number), COMMANDS)

  # A node that dies costs it errors, or its connection where it watches: never an answer that is another's.
  def answered(port, key)
    Thread.new do
      count = 0
      converse(port) { |redis| nil while going_on? && exchange(redis, key, (count += 1).to_s) } while going_on?
    end
  end

  # @return [Boolean] whether the connection goes on
  def exchange(redis, key, text)
    commands = [["WATCH", key], ["MULTI"], ["SET", key, text], ["GET", key], ["EXEC"], ["ECHO", text]]
    expected = ["+OK\r\n", "+OK\r\n", "+QUEUED\r\n", "+QUEUED\r\n", "*2\r\n+OK\r\n$#{text.size}\r\n#{text}\r\n",
                "$#{text.size}\r\n#{text}\r\n"]
    commands.zip(expected) do |words, right|
      reply = redis.call(*words)
      return false unless reply

      fits = reply == right || reply.start_with?("-ERR node", "-ERR EXEC without")
      assert(fits, "PLAIT_SEED=#{SEED} #{words}: #{reply.inspect}")
    end
    true
  rescue Errno::EPIPE, Errno::ECONNRESET, Plait::TruncatedError
    false
  end

  def killed(servers)
    Thread.new do
      while going_on?
        servers.sample.restart(:KILL)
        sleep(0.3)
      end
    end
  end
end
