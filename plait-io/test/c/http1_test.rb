# frozen_string_literal: true

require "test_helper"
require "support/sanitized"

class HTTP1EngineTest < Minitest::Test
  def hard_timeout = super + Sanitized::BUILDING

  def test_the_engine_from_c
    Sanitized.build(File.join(__dir__, "http1_test.c"), "http1") do |program|
      assert_equal("ok\n", Sanitized.run(program))
    end
  end
end
