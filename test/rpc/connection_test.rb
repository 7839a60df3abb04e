# frozen_string_literal: true

require_relative "../test_helper"
require_relative "connection_cases"

class ConnectionTest < Minitest::Test
  include ConnectionCases

  def wire = Plait::RPC::Wire
end

if Plait::Native.available?
  class ConnectionOverPureWireTest < Minitest::Test
    include ConnectionCases

    def wire = PureWires
  end
end
