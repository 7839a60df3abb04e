# frozen_string_literal: true

require_relative "../test_helper"
require_relative "mechanism_contract"
require_relative "scope_contract"

module Contracts
  class FibersTest < Minitest::Test
    include MechanismContract
    include ScopeContract

    def on = :fibers
  end
end
