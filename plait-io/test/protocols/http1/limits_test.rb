# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/protocols/http1"

class HTTP1LimitsTest < Minitest::Test
  Limits = Plait.const_get(:Protocols)::HTTP1::Limits

  def test_defaults
    assert_equal([65_536, 128, 1 << 30], [Limits.new.head, Limits.new.headers, Limits.new.body])
    assert_equal(Limits::DEFAULTS.values, Limits.new.to_a)
    assert_predicate(Limits.new, :frozen?)
  end

  def test_others
    limits = Limits.new(body: nil, head: 100)
    assert_equal([nil, 100, 8192], [limits.body, limits.head, limits.start_line])
  end

  def test_wrong_ones
    assert_match(/no limit :heads; there are body, start_line/, refused(heads: 1))
    assert_match(/the limit head must be an Integer from 0 to 16777215, not -1/, refused(head: -1))
    assert_match(/not nil/, refused(head: nil))
    assert_match(/not "5"/, refused(body: "5"))
    assert_match(/not 65537/, refused(headers: 65_537))
  end

  private

  def refused(**limits) = assert_raises(Plait::UsageError) { Limits.new(**limits) }.message
end
