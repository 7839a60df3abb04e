# frozen_string_literal: true

require "test_helper"
require_relative "mechanism_contract"
require_relative "scope_contract"
require_relative "state_contract"

module Contracts
  class SequenceTest < Minitest::Test
    include MechanismContract
    include ScopeContract
    include StateContract

    def on = :sequence

    def eager? = true

    def in_caller? = true

    # Nothing else is in flight that could be cancelled.
    def test_cancellation_runs_ensure_blocks
      seen = []
      assert_raises(IOError) do
        map([1, 2]) do |item|
          seen << item
          raise IOError, "enough"
        ensure
          seen << :out
        end
      end
      assert_equal([1, :out], seen)
    end
  end
end
