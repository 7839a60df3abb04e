# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require_relative "connection_cases"

class ConnectionOverPureLineTest < Minitest::Test
  include ConnectionCases

  def line = Plait::RPC.const_get(:PureLine)
end

if Plait.const_get(:Native).available?
  class ConnectionOverNativeLineTest < Minitest::Test
    include ConnectionCases

    def line = Plait::RPC.const_get(:NativeLine)
  end
end
