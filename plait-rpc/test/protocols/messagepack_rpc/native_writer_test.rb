# frozen_string_literal: true

require "test_helper"
require_relative "writer_cases"

class MessagePackRPCNativeWriterTest < Minitest::Test
  ENGINE = (WriterCases::MessagePackRPC::NativeWriter if WriterCases::MessagePackRPC.const_defined?(:NativeWriter))
  include WriterCases

  def setup
    skip("there is no extension") unless ENGINE
  end

  def test_under_gc_stress
    GC.stress = true
    writer = build(join: 200)
    20.times { |i| writer.request(i, "method", ["\x92\xC4\xFF".b, "x" * 255, "\x01"]).response(i, "\x01") }
    parts = writer.take
    GC.stress = false
    reference = Reference.new(parts.join)
    20.times { |i| assert_equal([[0, i, "method", ["x" * 255, 1]], [1, i, nil, 1]], [reference.value, reference.value]) }
  ensure
    GC.stress = false
  end

  def test_while_objects_move
    skip("this Ruby can't compact") unless GC.respond_to?(:compact)
    writer = build(join: 200)
    20.times do |i|
      writer.request(i, "method", ["\x92\xC4\xFF".b, "x" * 255, "\x01"])
      GC.compact
    end
    reference = Reference.new(writer.take.join)
    20.times { |i| assert_equal([0, i, "method", ["x" * 255, 1]], reference.value) }
  end

  def test_nothing_is_allocated_for_a_message_that_is_joined
    writer = build
    params = "\x90"
    writer.request(1, "m", params)
    before = GC.stat(:total_allocated_objects)
    100.times { writer.request(1, "m", params) }
    assert_operator(GC.stat(:total_allocated_objects) - before, :<, 10)
  end
end
