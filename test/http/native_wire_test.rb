# frozen_string_literal: true

require_relative "../test_helper"
require_relative "wire_cases"

if Plait::Native.available?
  class NativeWireTest < Minitest::Test
    include WireCases

    def wire_class = Plait::HTTP::NativeWire

    # Nor is the descriptor.
    def test_tls_what_comes_from_outside_in_the_goodbye_is_not_lost
      with_tls_wire(:stall.to_proc) do |wire|
        wire.io.define_singleton_method(:close) { raise("from outside") }
        assert_raises(RuntimeError) { wire.close }
        assert_predicate(wire.io.to_io, :closed?)
      end
    end
  end
end
