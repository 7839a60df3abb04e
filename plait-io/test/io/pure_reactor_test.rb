# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require_relative "reactor_cases"

class IoPureReactorTest < Minitest::Test
  include ReactorCases

  def reactor_class = Plait.const_get(:Io)::PureReactor
end
