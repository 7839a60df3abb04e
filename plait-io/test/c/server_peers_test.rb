# frozen_string_literal: true

require "test_helper"
require "support/sanitized"

class ServerPeersTest < Minitest::Test
  def hard_timeout = super + Sanitized::BUILDING

  def test_peers_from_c
    skip("epoll is Linux's") unless RUBY_PLATFORM.include?("linux")

    Sanitized.build(File.join(__dir__, "server_peers_test.c"), "{server,http1,tls}") do |program|
      assert_equal("ok\n", Sanitized.run(program))
    end
  end
end
