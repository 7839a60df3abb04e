# frozen_string_literal: true

require "test_helper"
require_relative "mechanism_contract"
require_relative "scope_contract"
require_relative "state_contract"

module Contracts
  class FibersTest < Minitest::Test
    include MechanismContract
    include ScopeContract
    include StateContract

    def on = :fibers
  end
end
