# frozen_string_literal: true

require "test_helper"
require_relative "mechanism_contract"
require_relative "scope_contract"
require_relative "state_contract"
require "support/ractors"

module Contracts
  class RactorsTest < Minitest::Test
    include MechanismContract
    include ScopeContract
    include StateContract

    def setup = Support::Ractors.needed

    def on = :ractors

    def inherits? = false
  end
end
