# frozen_string_literal: true

require_relative "../test_helper"
require_relative "mechanism_contract"
require_relative "scope_contract"
require_relative "../support/ractor_threads"

module Contracts
  class RactorsTest < Minitest::Test
    include MechanismContract
    include ScopeContract

    def setup = Support::RactorThreads.need_to_go_on

    def on = :ractors
  end
end
