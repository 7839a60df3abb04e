# frozen_string_literal: true

require_relative "builders"

class LabMemoryPassTest < Minitest::Test
  include LabBuilders

  def setup
    skip("no fork here") unless Process.respond_to?(:fork)
  end

  def test_allocations_per_item
    counted = assert_no_leaks { pass(cell(:threads, limit: 2, body: ->(_) { 1000.times { "x" * 100 } })).run }
    assert_equal(3, counted.items)
    assert_in_delta(1000, counted.strings, 100)
    assert_operator(counted.bytes, :>=, 100_000)
    assert_nil(counted.scope)
  end

  def test_of_processes_it_says_what_is_counted
    assert_match(/what its workers allocate is not counted/, pass(cell(:processes, limit: 2)).run.scope)
  end

  def test_few_items_where_they_take_long_or_allocate_much
    many = cell(items: (1..500).to_a)
    assert_equal(50, pass(many, wall: 0.1).items.size)
    assert_equal(4, pass(many, wall: 1.5).items.size)
    assert_equal(1, pass(many, wall: 60.0).items.size)
    assert_equal(20, pass(many, objects: 30_000).items.size)
    assert_equal([7], pass(cell(memory_items: [7])).items)
  end

  def test_one_item_that_allocates_too_much_is_not_traced
    assert_match(/too many objects/, pass(cell, objects: 9_000_000).run)
  end

  def test_with_ractors_it_is_not_tried
    assert_match(/tracing them crashes Ruby/, pass(cell(:ractors)).run)
  end

  def test_a_failure_is_a_sentence
    assert_match(/could not be counted: KeyError: no/, pass(cell(body: ->(_) { raise KeyError, "no" })).run)
  end

  private

  # As after a timed trial of three items.
  def pass(cell, wall: 0.1, objects: 300)
    Lab.const_get(:MemoryPass).new(cell, measurement(wall).tap { |found| found.objects = objects }, bound: 60)
  end
end
