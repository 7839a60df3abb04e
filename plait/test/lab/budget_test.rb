# frozen_string_literal: true

# bin/test: jruby

require "minitest/mock"
require_relative "builders"

class LabBudgetTest < Minitest::Test
  include LabBuilders

  def test_without_a_limit_there_is_always_time
    assert(Lab.const_get(:Budget).new(nil).for?([cell]))
  end

  def test_what_a_cell_took_is_what_it_will_take
    slow, unknown = cell, cell
    clock = 1.0
    Plait::Deadline.stub(:now, -> { clock }) do
      budget = Lab.const_get(:Budget).new(0.3)
      assert(budget.for?([slow, unknown]))
      assert_equal(7, budget.spend(slow) { (clock += 0.2) && 7 })
      refute(budget.for?([slow]))
    end
    assert(Lab.const_get(:Budget).new(60).tap { |long| long.spend(slow) { 1 } }.for?([slow]))
  end
end
