# frozen_string_literal: true

require "test_helper"
require "plait/shard"

# What nodes of clusters answer, in all the forms that they have.
class ShardClusterViewTest < Minitest::Test
  View = Plait::Shard.const_get(:Sources)::Cluster.const_get(:View)
  NODES = <<~TEXT
    aaa 10.0.0.1:7001@17001 myself,master - 0 1 3 connected 0-8191
    bbb 10.0.0.2:7002@17002,second.example master - 0 1 9 connected 8192-16383 [93-<-aaa]
    ccc 10.0.0.3:7003@17003 slave aaa 0 1 3 connected
    ddd 10.0.0.4:7004@17004,fourth.example master - 0 1 0 connected
    eee 10.0.0.5:7005@17005 master,fail - 0 1 0 disconnected
    fff :0@0 master,noaddr - 0 1 0 disconnected
  TEXT

  def test_masters_replicas_and_those_without_slots
    topology = View.new(slots, NODES, "10.0.0.1").topology(nil)
    assert_equal(%w[10.0.0.1:7001 10.0.0.2:7002], topology.masters.map(&:to_s))
    assert_equal([%w[10.0.0.3:7003], []], topology.replicas.map { |own| own.map(&:to_s) })
    assert_equal(%w[10.0.0.4:7004], topology.others.map(&:to_s))
    assert_equal("10.0.0.1:7001", topology.placement.owner_of(8191).to_s)
    assert_equal("10.0.0.2:7002", topology.placement.owner_of(8192).to_s)
  end

  def test_its_epoch_is_the_highest_that_it_knows = assert_equal(9, View.new(slots, NODES, "10.0.0.1").epoch)

  def test_a_node_that_does_not_know_its_address_is_where_it_was_asked
    [nil, "", "?"].each do |host|
      topology = View.new([[0, 16_383, [host, 7001, "aaa"]]], "", "10.9.9.9").topology(nil)
      assert_equal(%w[10.9.9.9:7001], topology.masters.map(&:to_s))
    end
  end

  def test_hostnames_where_clients_are_told_those
    slots = [[0, 16_383, ["first.example", 7001, "aaa", ["ip", "10.0.0.1"]]]]
    assert_includes(View.new(slots, NODES, "10.0.0.1").topology(nil).others.map(&:to_s), "fourth.example:7004")
  end

  def test_a_slot_of_nobody_stays_where_it_was
    former = View.new(slots, NODES, "10.0.0.1").topology(nil)
    now = View.new([[0, 100, ["10.0.0.1", 7001, "aaa"]], [9000, 9001, ["10.0.0.2", 7002, "bbb"]]], NODES, "x").topology(former)
    assert_equal("10.0.0.2:7002", now.placement.owner_of(16_383).to_s)
    assert_equal("10.0.0.1:7001", now.placement.owner_of(101).to_s)
    refute(now.same_as?(Plait::Shard.const_get(:Topology).new(former.placement, replicas: [[], []])))
  end

  def test_slots_of_nobody_make_it_partial
    whole = View.new(slots, NODES, "10.0.0.1").topology(nil)
    part = View.new(slots.first(1), NODES, "10.0.0.1").topology(nil)
    assert_equal([false, true], [whole.partial?, part.partial?])
  end

  def test_a_cluster_without_slots
    error = assert_raises(Plait::ConnectError) { View.new([], NODES, "10.0.0.1").topology(nil) }
    assert_match(/no slots yet/, error.message)
  end

  private

  def slots
    [[0, 8191, ["10.0.0.1", 7001, "aaa", []], ["10.0.0.3", 7003, "ccc", []]], [8192, 16_383, ["10.0.0.2", 7002, "bbb", []]]]
  end
end
