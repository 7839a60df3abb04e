# frozen_string_literal: true

require "test_helper"
require_relative "mechanism_contract"
require_relative "state_contract"

module Contracts
  class AutoTest < Minitest::Test
    include MechanismContract
    include StateContract

    def on = :auto

    # There are no items from which it could learn.
    def test_a_task_sees_nothing_that_an_earlier_one_has_left
      error = assert_raises(Plait::UsageError) { Plait.run(on: :auto) { flunk } }
      assert_match(/Plait\.run has no items/, error.message)
    end
  end

  # Parts of what it may choose.
  [%i[fibers], %i[sequence hybrid]].each do |among|
    const_set("AutoAmong#{among.join.capitalize}Test", Class.new(Minitest::Test) do
      include MechanismContract

      define_method(:among) { among }

      def on = :auto

      def map(items, **options, &body) = super(items, among: among, **options, &body)

      def each_result(items, **options, &body) = super(items, among: among, **options, &body)
    end)
  end
end
