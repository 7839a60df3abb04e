# frozen_string_literal: true

require "plait/rpc"
require_relative "connection_cases/serving"
require_relative "talker"

# What a connection must do over each line, the native one and its twin. Included by a test class of its own, which says
# which one:
#
#     class ConnectionOverPureLineTest < Minitest::Test
#       include ConnectionCases
#       def line = Plait::RPC::PureLine
#     end
module ConnectionCases
  include Serving

  private

  # A connection, and the other end of it.
  def with_pair(**options)
    ours, theirs = UNIXSocket.pair
    connection = Plait::RPC::Connection.new(ours, endpoint: "unix:///pair", line: line, **options)
    yield(connection, Talker.new(theirs))
  ensure
    connection&.close
    theirs&.close
  end
end
