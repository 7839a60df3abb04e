# frozen_string_literal: true

require_relative "nodes"
require_relative "same_replies"

# The same commands through the proxy before four nodes, and on one plain server: the same replies, in order, whatever the cuts.
# Reproducible: PLAIT_SEED=the seed of the message; PLAIT_ROUNDS goes on for longer.
class ShardProxyDifferentialTest < Minitest::Test
  include ShardNodes
  include SameReplies

  ROUNDS = Integer(ENV.fetch("PLAIT_ROUNDS", "150"))
  SEED = Integer(ENV.fetch("PLAIT_SEED", "50"))

  def test_one_after_another = rounds(threads: 1, clients: 1)

  def test_several_clients_on_several_threads = rounds(threads: 2, clients: 5)

  def test_each_strategy_with_small_chunks_and_large_ones
    [[:strict, 4096], [:lazy, 1024], [:lazy, 4096], [:lazy, 32_768], [:auto, 262_144]].each do |strategy, chunk|
      rounds(threads: 1, clients: 2, strategy: strategy, chunk: chunk)
    end
  end

  private

  # Each client has keys of its own.
  def rounds(threads:, clients:, **options)
    call(plain.port, "FLUSHALL")
    with_proxy(threads: threads, **options) do |proxy|
      Array.new(clients) do |number|
        Thread.new { assert_same_rounds(proxy, RandomCommands.new(SEED + number, prefix: "#{number}:"), ROUNDS / clients) }
      end.each(&:value)
    end
  end
end
