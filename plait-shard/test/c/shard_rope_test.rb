# frozen_string_literal: true

require "test_helper"
require "support/sanitized"

class ShardRopeEngineTest < Minitest::Test
  def hard_timeout = super + Sanitized::BUILDING

  def test_the_engine_from_c
    skip("the data plane is for Linux") unless RUBY_PLATFORM.include?("linux")

    Sanitized.build(File.join(__dir__, "shard_rope_test.c"), "shard_rope") do |program|
      assert_equal("ok\n", Sanitized.run(program))
    end
  end
end
