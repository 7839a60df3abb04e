# frozen_string_literal: true

require "test_helper"
require_relative "mechanism_contract"
require_relative "scope_contract"
require_relative "state_contract"

module Contracts
  class ProcessesOfThreadsTest < Minitest::Test
    include MechanismContract
    include ScopeContract
    include StateContract

    def on = %i[processes threads]
  end

  class ProcessesOfFibersTest < Minitest::Test
    include MechanismContract
    include ScopeContract
    include StateContract

    def on = %i[processes fibers]
  end

  class ProcessesOfHybridTest < Minitest::Test
    include MechanismContract
    include ScopeContract
    include StateContract

    def on = %i[processes hybrid]
  end
end
