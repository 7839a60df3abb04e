# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/protocols/messagepack_rpc"

class MessagePackRPCLimitsTest < Minitest::Test
  Limits = Plait.const_get(:Protocols)::MessagePackRPC.const_get(:Limits)

  def test_defaults
    assert_equal([256 << 20, 100, 1 << 22, 1024], Limits.new.to_a)
    assert_equal(Limits::DEFAULTS.values, Limits.new.to_a)
    assert_predicate(Limits.new, :frozen?)
  end

  def test_others
    limits = Limits.new(message: 100, nesting: 0)
    assert_equal([100, 0, 1024], [limits.message, limits[:nesting], limits[:method_name]])
  end

  def test_wrong_ones
    assert_match(/no limit :messages; there are message, nesting/, refused(messages: 1))
    assert_match(/the limit message must be an Integer from 0 to \d+, not -1/, refused(message: -1))
    assert_match(/not nil/, refused(message: nil))
    assert_match(/from 0 to 128, not 129/, refused(nesting: 129))
    assert_match(/not "5"/, refused(elements: "5"))
  end

  private

  def refused(**limits) = assert_raises(Plait::UsageError) { Limits.new(**limits) }.message
end
