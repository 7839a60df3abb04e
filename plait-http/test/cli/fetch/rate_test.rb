# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/cli"
require "plait/cli/fetch/settings"

class FetchRateTest < Minitest::Test
  Rate = Plait::CLI::Fetch::Rate

  def test_evenly_spaced
    assert_equal [100.0, 100.125, 100.25, 100.375], begun(Rate.new(8), 100.0, 100.4)
  end

  def test_never_more_than_the_rate_and_the_slack
    rate = Rate.new(50)
    assert_in_delta 50, begun(rate, 10.0, 10.999).size, 1
    after_a_pause = begun(rate, 20.0, 20.999)
    assert_operator after_a_pause.size, :<=, 50 + (50 * Rate::SLACK) + 1
    assert_operator after_a_pause.count { |moment| moment < 20.005 }, :<=, (50 * Rate::SLACK) + 1
  end

  def test_who_comes_late_makes_up_for_it
    rate = Rate.new(100)
    moments = (0..999).map { |n| 5 + (n * 0.001) }.select { |now| (now * 1000).round % 25 == 0 }
    count = moments.sum { |now| burst(rate, now) }
    assert_in_delta 100, count, 12
  end

  def test_words
    { "5" => 0.2, "5/s" => 0.2, "30/m" => 2.0, "1.5e3/h" => 2.4 }.each do |text, interval|
      rate = Rate.parse("--rate", text)
      rate.take(50.0)
      rate.take(50.0)
      assert_in_delta 50 + (2 * interval), rate.next_moment, 1e-9
    end
    ["", "x", "5/d", "0/s", "5/", "/s", "-1"].each do |text|
      assert_includes assert_raises(Plait::UsageError) { Rate.parse("--rate", text) }.message, "--rate"
    end
  end

  private

  # A clock in steps of a millisecond.
  def begun(rate, from, to)
    (0..((to - from) * 1000).round).map { |n| from + (n * 0.001) }.flat_map { |now| [now] * burst(rate, now) }
  end

  def burst(rate, now)
    count = 0
    while rate.ready?(now)
      rate.take(now)
      count += 1
    end
    count
  end
end
