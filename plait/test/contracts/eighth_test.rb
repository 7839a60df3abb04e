# frozen_string_literal: true

require "test_helper"
require_relative "mechanism_contract"
require_relative "scope_contract"
require_relative "state_contract"
require_relative "thread_an_item"

module Contracts
  # A mechanism of the user's own, registered by its file, is a mechanism as any other: by every verb of the face.
  class EighthTest < Minitest::Test
    include MechanismContract
    include ScopeContract
    include StateContract

    def on = :threadanitem

    def test_it_is_listed_and_named_in_messages
      assert_includes(Plait::Mechanisms.names, on)
      error = assert_raises(Plait::UnknownMechanism) { Plait.map([1], on: :nonsense) { |item| item } }
      assert_match(/there are .*:#{on}/, error.message)
    end

    def test_it_can_be_compared
      report = Plait.compare([1, 2], on: [:sequence, on], limit: 2, rounds: 1) { |item| item * 2 }
      assert_equal(%i[sequence threadanitem], report.rows.map(&:on).sort)
    end
  end
end
