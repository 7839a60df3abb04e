# frozen_string_literal: true

require_relative "proxy/fake_nodes"

# Connections of the control plane to nodes that refuse it, or say nothing.
class ShardNodeConnectionTest < Minitest::Test
  include ShardNodes
  include FakeNodes

  def test_a_refused_password_leaves_no_socket_open
    node = answering_node("-WRONGPASS no\r\n")
    GC.disable
    assert_no_leaks do
      3.times { assert_raises(Plait::RemoteError) { connect(node, access(password: "wrong")) } }
    end
  ensure
    GC.enable
  end

  # A failover would be seen as late as a node that hangs lets its question be.
  def test_topologies_are_read_with_the_timeout_of_nodes
    silent = addresses([silent_node])
    cluster = sources::Cluster.new(silent, access)
    sentinels = sources::Sentinels.new(silent, ["m"], {}, access)
    [cluster, sentinels].each do |source|
      assert_match(/sent nothing for 0.1 s/, assert_raises(Plait::ReadTimeout) { source.read }.message)
    end
  end

  private

  def sources = Plait::Shard.const_get(:Sources)

  def access(**options)
    shard = Plait::Shard
    shard.const_get(:NodeAccess).new(shard.const_get(:Encryption).new, timeout: 0.1, **options)
  end

  def connect(node, access)
    Plait::Shard.const_get(:NodeConnection).open(Plait::Shard::Node.parse(addresses([node]).first), access) { nil }
  end
end
