# frozen_string_literal: true

require "test_helper"
require "plait/server"
require "plait/server/surroundings"

class ServerSurroundingsTest < Minitest::Test
  # macOS refuses more than it has, though its limit is none.
  def test_a_system_that_refuses_many_open_files_is_asked_for_fewer
    asked = []
    refuse = lambda do |_, soft, _|
      asked << soft
      raise Errno::EINVAL if soft > 10_240
    end
    Process.stub(:getrlimit, [256, 1 << 62]) do
      Process.stub(:setrlimit, refuse) { Plait::Server.const_get(:Surroundings).send(:raise_limit_of_files) }
    end
    assert_equal([1 << 18, 10_240], asked)
  end
end
