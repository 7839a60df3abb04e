# frozen_string_literal: true

require_relative "../shard/proxy/fake_nodes"
require_relative "shard_plane"

# What the data plane does with memory, under ASan and its search for leaks.
class ShardMemoryTest < Minitest::Test
  include ShardPlane
  include FakeNodes

  SECONDS = 0

  # A node sends all to another that can't be reached, or is not asked at all.
  def test_redirected_requests_that_can_not_be_asked_are_freed
    gone = Struct.new(:port).new(Support::Server.free_port)
    node = answering_node("-MOVED 1 127.0.0.1:#{gone.port}\r\n")
    with_plane(ASAN, [node, gone], threads: -1) do |port|
      converse(port) do |client|
        50.times { assert_match(/\A-ERR node 127.0.0.1:#{gone.port} /, client.call("GET", "{b}#{"k" * 50}")) }
      end
    end
  end
end
