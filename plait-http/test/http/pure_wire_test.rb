# frozen_string_literal: true

require "test_helper"
require "plait/http"
require_relative "wire_cases"

class PureWireTest < Minitest::Test
  include WireCases

  def wire_class = Plait::HTTP.const_get(:PureWire)
end
