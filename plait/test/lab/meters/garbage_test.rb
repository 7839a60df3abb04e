# frozen_string_literal: true

require_relative "../builders"

class LabGarbageMeterTest < Minitest::Test
  def test_collections_and_objects_are_counted
    skip("counted on CRuby") unless RUBY_ENGINE == "ruby"
    meter = Plait::Lab.const_get(:Meters)::Garbage.new.tap(&:start)
    kept = Array.new(1000) { +"x" }
    3.times { GC.start }
    figures = meter.stop
    assert_operator(figures[:objects], :>=, kept.size)
    assert_operator(figures[:gc_runs], :>=, 3)
    assert_operator(figures[:gc_time], :>=, 0)
  end
end
