# frozen_string_literal: true

require "test_helper"
require "support/sanitized"

class MessagePackRPCEngineTest < Minitest::Test
  def hard_timeout = super + Sanitized::BUILDING

  def test_the_engine_from_c
    Sanitized.build(File.join(__dir__, "messagepack_rpc_test.c"), "messagepack_rpc") do |program|
      assert_equal("ok\n", Sanitized.run(program))
    end
  end
end
