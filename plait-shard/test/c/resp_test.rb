# frozen_string_literal: true

require "test_helper"
require "support/sanitized"

class RESPEngineTest < Minitest::Test
  def hard_timeout = super + Sanitized::BUILDING

  def test_the_engine_from_c
    Sanitized.build(File.join(__dir__, "resp_test.c"), "resp") do |program|
      assert_equal("ok\n", Sanitized.run(program))
    end
  end
end
