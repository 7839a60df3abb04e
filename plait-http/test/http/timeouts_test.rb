# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/http"

class HTTPTimeoutsTest < Minitest::Test
  Timeouts = Plait::HTTP::Timeouts

  def test_each_is_a_float_or_nothing
    timeouts = Timeouts.new(connect: 1, first_byte: 2r, read: nil, total: 0.5)
    assert_equal({ connect: 1.0, first_byte: 2.0, read: nil, total: 0.5 }, timeouts.to_h)
    assert_equal([Float] * 3, [timeouts.connect, timeouts.first_byte, timeouts.total].map(&:class))
    assert_predicate(timeouts, :frozen?)
  end

  def test_defaults
    assert_equal({ connect: 10.0, first_byte: 60.0, read: 60.0, total: nil }, Timeouts.new.to_h)
    assert_equal(Timeouts.new, Timeouts.from(nil))
  end

  def test_from
    base = Timeouts.new(connect: 1, read: 2, total: 3)
    assert_same(base, Timeouts.from(nil, base))
    assert_same(base, Timeouts.from(base))
    assert_equal(base.to_h.merge(total: 7.0), Timeouts.from(7, base).to_h)
    assert_equal(base.to_h.merge(read: 7.0, total: nil), Timeouts.from({ read: 7, total: nil }, base).to_h)
  end

  def test_for_writing_there_is_the_one_for_reading_or_its_own
    assert_equal([7.0, 7.0], Timeouts.new(read: 7).then { |timeouts| [timeouts.write, timeouts.read] })
    own = Timeouts.from({ read: 1 }, Timeouts.new(read: 7, write: 3))
    assert_equal([3.0, 1.0], [own.write, own.read])
    assert_nil(Timeouts.new(write: nil).write)
    assert_equal(["timeout: {read: 7.0}", "timeout: {write: 3.0}"],
                 [{ read: 7 }, { write: 3 }].map { |seconds| Timeouts.new(**seconds).option(:write) })
    refute_equal(Timeouts.new, Timeouts.new(write: 3))
  end

  def test_what_can_not_be
    [0, -1, "1", Float::NAN, Float::INFINITY, 1i, true, false].each do |value|
      assert_match(/timeout: read/, assert_raises(Plait::UsageError, value.inspect) { Timeouts.new(read: value) }.message)
    end
    assert_raises(Plait::UsageError) { Timeouts.from(0) }
    ["5", [1], :never].each { |spec| assert_match(/timeout: takes/, assert_raises(Plait::UsageError) { Timeouts.from(spec) }.message) }
    [{ open: 1 }, { "read" => 1 }].each do |spec|
      assert_match(/doesn't know (:open|"read"); it takes/, assert_raises(Plait::UsageError) { Timeouts.from(spec) }.message)
    end
  end

  def test_equality
    assert_equal(1, [Timeouts.new(read: 1), Timeouts.new(read: 1.0)].uniq.size)
    refute_equal(Timeouts.new(read: 1), Timeouts.new(read: 2))
    refute_equal(Timeouts.new, {})
    assert_match(/read: 1\.0/, Timeouts.new(read: 1).inspect)
  end
end
