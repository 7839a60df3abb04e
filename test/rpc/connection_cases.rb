# frozen_string_literal: true

require "plait/rpc"
require_relative "connection_cases/serving"
require_relative "talker"

# What a connection must do over each wire, the native one and its twin. Included by a test class of its own, which says
# which one:
#
#     class ConnectionOverPureWireTest < Minitest::Test
#       include ConnectionCases
#       def wire = PureWires
#     end
module ConnectionCases
  include Serving

  # Moves everything in Ruby.
  module PureWires
    def self.over(io, parser) = Plait::RPC::PureWire.new(io, parser)
  end

  private

  # A connection, and the other end of it.
  def with_pair(**options)
    ours, theirs = UNIXSocket.pair
    connection = Plait::RPC::Connection.new(ours, endpoint: "unix:///pair", wire: wire, **options)
    yield(connection, Talker.new(theirs))
  ensure
    connection&.close
    theirs&.close
  end
end
