# frozen_string_literal: true

require "test_helper"
require "plait/server"

class ServerOptionsTest < Minitest::Test
  def test_a_folder_that_is_none
    error = assert_raises(Plait::UsageError) { Plait::Server.new(->(_) {}, folder: "/nonexistent") }
    assert_match(%r{\Afolder: /nonexistent is no folder}, error.message)
  end

  def test_numbers_that_can_not_be_kept
    { limit: 1 << 80, queue: 1 << 80, connections: 1 << 40, requests: 1 << 40, spool: 1 << 63 }.each do |name, value|
      error = assert_raises(Plait::UsageError) { Plait::Server.new(->(_) {}, name => value) }
      assert_match(/\A#{name}: is \d+ at most, not #{value}\z/, error.message)
    end
    assert_equal(1 << 40, Plait::Server.const_get(:Options).build(spool: 1 << 40).spool)
  end

  def test_limits_that_are_none
    error = assert_raises(Plait::UsageError) { Plait::Server.new(->(_) {}, limits: 5) }
    assert_equal("limits: is a Hash of limits, not 5", error.message)
  end

  def test_some_descriptors_are_left_to_the_app
    descriptors, = Process.getrlimit(:NOFILE)
    connections = Plait::Server.const_get(:Options).build({}).connections
    assert_includes(1...descriptors, connections)
    assert_equal(7, Plait::Server.const_get(:Options).build(connections: 7).connections)
  end
end
