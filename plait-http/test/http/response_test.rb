# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require_relative "response_cases"

# Whichever of the twins it is.
class HTTPResponseTest < Minitest::Test
  include ResponseCases

  def response_class = Plait::HTTP::Response
end
