# frozen_string_literal: true

require "test_helper"
require "plait/shard"
require_relative "reference"

# The engine against plain Ruby. Reproducible: PLAIT_SEED=the seed of the message.
class ShardPlacementDifferentialTest < Minitest::Test
  Placement = Plait::Shard::Placement
  NODES = %w[127.0.0.1:7001 127.0.0.1:7002:2 127.0.0.1:7003].freeze
  TAGS = [nil, "{}", "$$", "é", :last_brace, :first_brace].freeze
  SEED = Integer(ENV.fetch("PLAIT_SEED", "40"))

  def setup
    skip("there is no extension") unless Plait.const_get(:Native).available?
  end

  Placement::HASHES.each do |hash|
    define_method(:"test_#{hash}") do
      random = Random.new(SEED)
      Placement::DISTRIBUTIONS.product(TAGS) { |distribution, tag| compare(hash, distribution, tag, random) }
    end
  end

  def test_one_that_was_never_initialized
    assert_raises(ArgumentError) { Plait.const_get(:NativeShard)::Placement.allocate.node_for("x") }
    assert_raises(ArgumentError) { Plait.const_get(:NativeShard)::Placement.new(:md6, nil, "\0" * 8, false) }
    assert_raises(ArgumentError) { Plait.const_get(:NativeShard)::Placement.new(:md5, nil, "", false) }
  end

  private

  def compare(hash, distribution, tag, random)
    placement = Placement.new(NODES, rule: :twemproxy, hash: hash, distribution: distribution, tag: tag)
    points = Placement.const_get(:Tables).public_send(distribution, placement.nodes)
    100.times do
      key = random_key(random)
      expected = ShardPlacementReference.find(key, hash: hash, tag: tag, points: points, ring: distribution == :ketama)
      assert_equal(expected, [placement.hash_of(key), placement.node_for(key)],
                   "PLAIT_SEED=#{SEED} #{distribution} #{tag} #{key.inspect}")
    end
  end

  def random_key(random)
    Array.new(random.rand(6)) { [random.bytes(random.rand(30)), "{", "}", "$", "\xC3".b, "\xA9".b].sample(random: random) }.join
  end
end
