# frozen_string_literal: true

require "test_helper"
require_relative "mechanism_contract"
require_relative "scope_contract"
require_relative "state_contract"
require "support/ractor_threads"

module Contracts
  class RactorsTest < Minitest::Test
    include MechanismContract
    include ScopeContract
    include StateContract

    def setup = Support::RactorThreads.need_to_go_on

    def on = :ractors

    def inherits? = false
  end
end
