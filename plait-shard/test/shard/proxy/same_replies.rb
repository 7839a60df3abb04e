# frozen_string_literal: true

require_relative "random_commands"

# What is asked through the shard is answered as one plain server answers it, in order, whatever the cuts. Of a class with a SEED.
module SameReplies
  private

  # @param ours [Support::RedisConversation] with the shard
  # @param theirs [Support::RedisConversation] with one server
  # @param random [RandomCommands]
  # @param commands [Array<Array<String>>] a pipeline
  def assert_same_replies(ours, theirs, random, commands = random.commands)
    expected = theirs.pipeline(commands)
    random.pieces(commands.map { |words| encode(*words) }.join).each { |piece| ours.write(piece) }
    commands.zip(expected) do |words, reply|
      assert_equal(reply, ours.reply, "PLAIT_SEED=#{self.class::SEED} #{words.inspect[0, 200]}")
    end
  end

  # @param proxy [Plait::Shard::Proxy]
  # @param rounds [Integer] pipelines
  def assert_same_rounds(proxy, random, rounds)
    converse(proxy.port) do |ours|
      converse(plain.port) { |theirs| rounds.times { assert_same_replies(ours, theirs, random) } }
    end
  end
end
