# frozen_string_literal: true

require "test_helper"
require "plait/mechanisms/pace"

class ProcessesPaceTest < Minitest::Test
  Pace = Plait::Mechanisms.const_get(:Pace)

  def after(*durations, workers: 2)
    pace = Pace.new(workers)
    durations.each { |seconds| pace.record(seconds, 1) }
    pace.ahead
  end

  def test_nothing_waits_before_anything_is_known
    assert_equal(0, Pace.new(2).ahead)
  end

  def test_slow_items_do_not_wait
    assert_equal(0, after(*[0.5] * 100))
    assert_equal(0, after(*[Pace::SLOW] * 100))
  end

  def test_one_waits_where_the_way_matters
    assert_equal(1, after(*[0.015] * 100))
  end

  def test_a_few_milliseconds_wait
    assert_equal(10, after(*[0.001] * 100))
    assert_equal(100, after(*[0.0001] * 1000))
  end

  def test_the_number_is_bounded
    assert_equal(Pace::MOST, after(*[0.0] * 10_000))
  end

  def test_it_grows_with_what_is_done
    assert_equal(5, after(*[0.00001] * 10))
    assert_equal(2, after(*[0.00001] * 10, workers: 5))
  end

  def test_one_slow_item_is_enough
    assert_equal(0, after(*[0.00001] * 1000, 1.0))
  end

  def test_a_hiccup_is_forgotten
    assert_operator(after(*[0.00001] * 1000, 0.01, *[0.00001] * 50), :>, 100)
  end
end
