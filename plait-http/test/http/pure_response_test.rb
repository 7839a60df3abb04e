# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require_relative "response_cases"

class PureResponseTest < Minitest::Test
  include ResponseCases

  def response_class = Plait::HTTP.const_get(:PureResponse)
end
