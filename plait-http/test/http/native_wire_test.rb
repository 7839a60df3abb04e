# frozen_string_literal: true

require "test_helper"
require_relative "wire_cases"

if Plait.const_get(:Native).available?
  class NativeWireTest < Minitest::Test
    include WireCases

    def wire_class = Plait::HTTP.const_get(:NativeWire)

    # Timeouts of another kind are asked in the midst of it.
    def test_a_url_that_changes_meanwhile_is_refused
      url = "http://origin/#{"a" * 5000}"
      timeouts = Object.new
      timeouts.define_singleton_method(:first_byte) { url.replace("x") && nil }
      %i[read write total].each { |name| timeouts.define_singleton_method(name) { nil } }
      with_pair do |wire, peer|
        assert_raises(ArgumentError) { wire.get(url, "http://origin".size, BLOCK, timeouts, nil) }
        assert_equal(:wait_readable, peer.socket.read_nonblock(1, exception: false))
      end
    end

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
