# frozen_string_literal: true

require_relative "../test_helper"
require "plait/server"

class ServerOptionsTest < Minitest::Test
  def test_some_descriptors_are_left_to_the_app
    descriptors, = Process.getrlimit(:NOFILE)
    connections = Plait::Server::Options.build({}).connections
    assert_includes(1...descriptors, connections)
    assert_equal(7, Plait::Server::Options.build(connections: 7).connections)
  end
end
