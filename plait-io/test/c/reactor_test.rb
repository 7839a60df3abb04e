# frozen_string_literal: true

require "test_helper"
require "support/sanitized"

class ReactorEngineTest < Minitest::Test
  def hard_timeout = super + Sanitized::BUILDING

  def test_the_engine_from_c
    skip("epoll is Linux's") unless RUBY_PLATFORM.include?("linux")

    Sanitized.build(File.join(__dir__, "reactor_test.c"), "reactor") do |program|
      assert_equal("ok\n", Sanitized.run(program))
    end
  end
end
