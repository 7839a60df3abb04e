# frozen_string_literal: true

require "test_helper"
require_relative "streaming_cases"

class RPCStreamingOnHybridTest < Minitest::Test
  include StreamingCases

  def mechanism = :hybrid
end
