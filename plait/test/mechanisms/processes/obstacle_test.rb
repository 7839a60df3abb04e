# frozen_string_literal: true

require "test_helper"
require "plait/mechanisms/portable"

class ProcessesObstacleTest < Minitest::Test
  Box = Struct.new(:content)
  Thing = Class.new do
    def initialize(inside) = @inside = inside
  end

  def describe(value) = Plait::Mechanisms.const_get(:Portable).const_get(:Obstacle).describe(value, "the result")

  def test_it_names_the_way_and_the_class
    proc = -> {}

    assert_equal("the result is a Proc", describe(proc))
    assert_equal("the result[1] is a Proc", describe([1, proc]))
    assert_equal("the result[:a][\"b\"] is a Proc", describe({ a: { "b" => proc } }))
    assert_equal("the result.keys is a Thread", describe({ Thread.current => 1 }))
    assert_equal("the result.content.@inside[0] is an IO", describe(Box.new(Thing.new([$stdin]))))
    assert_equal("the result is an object of an anonymous class", describe(Class.new.new))
  end

  def test_a_container_that_is_itself_the_reason
    assert_equal("the result[0] is a Hash", describe([Hash.new { 1 }]))
  end

  def test_cycles_and_depth_end
    cycle = [-> {}]
    cycle.unshift(cycle)

    assert_match(/\Athe result(\[0\])+ is a/, describe(cycle))
  end
end
