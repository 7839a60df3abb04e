# frozen_string_literal: true

require "test_helper"
require_relative "mechanism_contract"
require_relative "scope_contract"
require_relative "state_contract"

module Contracts
  class ThreadsTest < Minitest::Test
    include MechanismContract
    include ScopeContract
    include StateContract

    def on = :threads
  end
end
