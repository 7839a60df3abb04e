# frozen_string_literal: true

require_relative "../builders"

class LabAllocationsMeterTest < Minitest::Test
  Allocations = Plait::Lab.const_get(:Meters)::Allocations

  def setup
    skip(Allocations.unavailable) if Allocations.unavailable
  end

  def test_objects_strings_and_bytes_per_item
    counted = Allocations.count(10, scope: "so") { 100.times { "x" * 1000 } }
    assert_in_delta(10, counted.strings, 1)
    assert_operator(counted.bytes, :>=, 10_000)
    assert_operator(counted.objects, :>=, counted.strings)
    assert_equal([10, "so"], [counted.items, counted.scope])
  end

  def test_what_stays_alive_is_retained
    kept = []
    counted = Allocations.count(1) { 50.times { kept << ("y" * 100) } }
    assert_operator(counted.retained_strings, :>=, 50)
    assert_operator(Allocations.count(1) { 50.times { "y" * 100 } }.retained_strings, :<, 10)
  end
end
