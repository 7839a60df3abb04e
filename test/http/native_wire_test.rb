# frozen_string_literal: true

require_relative "../test_helper"
require_relative "wire_cases"

if Plait::Native.available?
  class NativeWireTest < Minitest::Test
    include WireCases

    def wire_class = Plait::HTTP::NativeWire
  end
end
