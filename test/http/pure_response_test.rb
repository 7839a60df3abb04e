# frozen_string_literal: true

# bin/test: jruby

require_relative "../test_helper"
require_relative "response_cases"

class PureResponseTest < Minitest::Test
  include ResponseCases

  def response_class = Plait::HTTP::PureResponse
end
