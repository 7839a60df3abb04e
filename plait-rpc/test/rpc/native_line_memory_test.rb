# frozen_string_literal: true

require "test_helper"
require_relative "connection_cases/helpers"

if Plait.const_get(:Native).available?
  # What the collector does to a line while it is in use.
  class NativeLineMemoryTest < Minitest::Test
    include ConnectionCases::Helpers

    # A value of GC.stress: only what is young is collected at each allocation, in a thirtieth of the time.
    YOUNG = 1

    def line = Plait::RPC.const_get(:NativeLine)

    def test_calls_under_stress
      with_peer(echo) do |connection|
        connection.request(:echo, [0])
        under_stress(true) { 2.times { |i| assert_equal(i, connection.request(:echo, [i])) } }
      end
    end

    def test_large_values_under_stress
      with_peer(echo) do |connection|
        value = ["x" * 200_000, { "a" => "y" * 100_000 }]
        connection.request(:echo, [0])
        under_stress(YOUNG) { assert_equal(value, connection.request(:echo, [value])) }
      end
    end

    def test_a_row_of_large_strings_under_stress
      with_peer(echo) do |connection|
        value = "x" * 100_000
        assert_equal([value] * 3, under_stress(YOUNG) { connection.batch(:echo, [[value]] * 3).values })
      end
    end

    def test_fibers_under_stress
      with_peer(echo) do |connection|
        Plait.map([1], on: :fibers) { connection.request(:echo, [0]) }
        ask = ->(i) { connection.request(:echo, [i], limit: soon) }
        assert_equal([0, 1, 2, 3], under_stress(YOUNG) { Plait.map(0...4, on: :fibers, limit: 4, &ask) })
      end
    end

    def test_compaction
      skip("this Ruby does not compact") unless GC.respond_to?(:compact) && compacts?
      with_peer(echo) do |connection|
        results = Array.new(8) do |i|
          future = connection.call(:echo, [[i, "small", "x" * 100_000]])
          GC.compact
          future.value
        end
        results.each_with_index { |result, i| assert_equal([i, "small", "x" * 100_000], result) }
      end
    end

    def test_a_line_that_is_forgotten_in_use
      200.times do
        ours, theirs = UNIXSocket.pair
        connection = Plait::RPC.const_get(:Connection).new(ours, line: line)
        Fiber.new { connection.call(:m, []) }.resume
        theirs.close
      end
      GC.start
      assert_operator(ObjectSpace.each_object(Plait::RPC.const_get(:NativeLine)).count, :<, 150)
    end

    private

    def soon = Plait::Deadline.now + 600

    def under_stress(how)
      GC.stress = how
      yield
    ensure
      GC.stress = false
    end

    def compacts?
      GC.compact
      true
    rescue NotImplementedError
      false
    end
  end
end
