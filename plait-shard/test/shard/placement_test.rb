# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/shard"

class ShardPlacementTest < Minitest::Test
  Placement = Plait::Shard::Placement
  NODES = %w[127.0.0.1:7001 127.0.0.1:7002:2 127.0.0.1:7003].freeze

  def test_the_original_redis_sharding
    skip("the extension has the hashes") unless Plait.const_get(:Native).available?
    placement = Placement.new(%w[a:1 b:1 c:1 d:1])
    assert_equal(Zlib.crc32("key") % 4, placement.node_for("key"))
    assert_equal(Zlib.crc32("tag") % 4, placement.node_for("ke{y{tag}"))
    assert_equal(Zlib.crc32("") % 4, placement.node_for("key{}"))
    assert_equal(Zlib.crc32("k{a}b") % 4, placement.node_for("k{a}b"))
  end

  def test_its_version_in_perl
    skip("the extension has the hashes") unless Plait.const_get(:Native).available?
    placement = Placement.new(%w[a:1 b:1 c:1 d:1], rule: :redis_sharding_perl)
    assert_equal(Zlib.crc32("y{tag") % 4, placement.node_for("ke{y{tag}"))
    assert_equal(Zlib.crc32("key{}") % 4, placement.node_for("key{}"))
  end

  def test_slots
    skip("the extension has the hashes") unless Plait.const_get(:Native).available?
    placement = Placement.new(%w[a:1 b:1 c:1], rule: :cluster)
    assert_equal([12_182, 12_182, 2], [placement.hash_of("foo"), placement.hash_of("x{foo}y"), placement.node_for("foo")])
    assert_equal([5061, 0], [placement.hash_of("bar"), placement.node_for("bar")])
  end

  def test_weights
    skip("the extension has the hashes") unless Plait.const_get(:Native).available?
    modula = Placement.new(%w[a:1:1 b:1:3], hash: :crc32a)
    ketama = Placement.new(%w[a:1:1 b:1:3], rule: :twemproxy)
    slots = Placement.new(%w[a:1:1 b:1:3], rule: :cluster)
    [modula, ketama, slots].each do |placement|
      share = (1..4000).count { |number| placement.node_for("key:#{number}") == 1 } / 4000.0
      assert_in_delta(0.75, share, 0.08)
    end
  end

  def test_nodes_are_in_the_order_of_their_names_where_twemproxy_has_them_so
    names = ["bb:1:1 b", "ccc:1:1 a", "a:1:1 aa"]
    assert_equal(%w[ccc bb a], Placement.new(names, rule: :twemproxy).nodes.map(&:host).values_at(0, 1, 2))
    assert_equal(%w[bb ccc a], Placement.new(names).nodes.map(&:host))
  end

  # Proxies know by it whether they have the same places; for 16,384 slots it takes milliseconds.
  def test_a_fingerprint_is_made_once
    nodes = %w[a:1 b:1]
    placement = Placement.new(nodes, rule: :cluster)
    assert_same(placement.fingerprint, placement.fingerprint)
    assert_equal(placement.fingerprint, Placement.new(nodes, rule: :cluster).fingerprint)
    others = [[nodes, { rule: :twemproxy }], [nodes, {}], [nodes.reverse, {}], [%w[a:1 b:1:2], {}], [nodes, { tag: "é" }]]
    prints = others.map { |names, settings| Placement.new(names, **settings).fingerprint }
    assert_equal(others.size + 1, [placement.fingerprint, *prints].uniq.size)
  end

  def test_wrong_ones
    assert_match(/no placement :x; there are redis_sharding/, refused(rule: :x))
    assert_match(/no hash :x; there are crc32a/, refused(hash: :x))
    assert_match(/no distribution :x; there are modula/, refused(distribution: :x))
    assert_match(/the tag is two delimiters/, refused(tag: "{"))
    assert_raises(Plait::UsageError) { Placement.new([]) }
    assert_raises(ArgumentError) { Placement.new(NODES, tags: "{}") }
  end

  private

  def refused(**settings) = assert_raises(Plait::UsageError) { Placement.new(NODES, **settings) }.message
end
