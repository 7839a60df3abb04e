# frozen_string_literal: true

require "plait/rpc"
require_relative "connection_cases/calls"
require_relative "connection_cases/deadlines"
require_relative "connection_cases/endings"
require_relative "connection_cases/following"
require_relative "connection_cases/helpers"
require_relative "connection_cases/in_the_middle"
require_relative "connection_cases/interruptions"
require_relative "connection_cases/large_answers"
require_relative "connection_cases/order"
require_relative "connection_cases/pressure"
require_relative "connection_cases/serving"
require_relative "connection_cases/signals"
require_relative "connection_cases/steps"
require_relative "connection_cases/storms"
require_relative "connection_cases/batches"

# What a connection must do over each line, the native one and its twin. Included by a test class of its own, which says
# which one:
#
#     class ConnectionOverPureLineTest < Minitest::Test
#       include ConnectionCases
#       def line = Plait::RPC.const_get(:PureLine)
#     end
module ConnectionCases
  include Calls
  include Deadlines
  include Endings
  include Following
  include Helpers
  include InTheMiddle
  include Interruptions
  include LargeAnswers
  include Order
  include Pressure
  include Serving
  include Signals
  include Steps
  include Storms
  include Batches
end
