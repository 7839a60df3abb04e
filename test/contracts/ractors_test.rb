# frozen_string_literal: true

require_relative "../test_helper"
require_relative "mechanism_contract"
require_relative "scope_contract"

module Contracts
  class RactorsTest < Minitest::Test
    include MechanismContract
    include ScopeContract

    def on = :ractors
  end
end
