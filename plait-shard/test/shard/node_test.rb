# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/shard"

class ShardNodeTest < Minitest::Test
  Node = Plait::Shard::Node

  def test_forms
    assert_equal(["a.b", 1, 1, "a.b:1"], parts("a.b:1"))
    assert_equal(["a.b", 1, 3, "a.b:1"], parts("a.b:1:3"))
    assert_equal(["a.b", 1, 3, "alpha"], parts("a.b:1:3 alpha"))
    assert_equal(["::1", 6379, 2, "[::1]:6379"], parts("[::1]:6379:2"))
    assert_equal(["a", 11_211, 1, "a"], parts("a:11211"))
  end

  def test_it_may_be_there_already
    node = Node.new("a", 1)
    assert_same(node, Node.parse(node))
  end

  def test_a_master_with_its_replicas
    [{ master: "a:1:2", replicas: ["b:2"] }, { "master" => "a:1:2", "replicas" => ["b:2"] }].each do |group|
      node = Node.parse(group)
      assert_equal(["a", 1, 2, "a:1"], [node.host, node.port, node.weight, node.name])
      assert_equal(["b:2"], node.replicas.map(&:to_s))
    end
    assert_empty(Node.parse({ "master" => "a:1" }).replicas)
    [{}, { master: "a" }, { replicas: ["a:1"] }, { master: "a:1", replicas: "b:2" }, { master: "a:1", other: 1 }].each do |group|
      assert_raises(Plait::UsageError, group.inspect) { Node.parse(group) }
    end
  end

  def test_wrong_ones
    ["a", ":1", "a:", "a:b", "::1:5", "a:1:x", "a:0", "a:65536", "a:1:0", nil].each do |text|
      assert_raises(Plait::UsageError, text.inspect) { Node.parse(text) }
    end
  end

  private

  def parts(text) = Node.parse(text).then { |node| [node.host, node.port, node.weight, node.name] }
end
