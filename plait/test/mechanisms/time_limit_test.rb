# frozen_string_literal: true

require "test_helper"
require "support/fresh_ruby"
require "support/ractors"

class TimeLimitTest < Minitest::Test
  def test_what_is_in_time_returns
    assert_equal(7, Plait.timeout(60) { 7 })
  end

  def test_what_is_late_is_ended
    ended = false
    error = assert_raises(Plait::TimeoutError) do
      Plait.timeout(0.5) do
        sleep(60)
      ensure
        ended = true
      end
    end
    assert(ended)
    assert_equal("no end after 0.5 s", error.message)
    assert(error.backtrace.any? { |line| line.include?(__FILE__) })
  end

  def test_a_rescue_inside_does_not_see_it
    assert_raises(Plait::TimeoutError) do
      Plait.timeout(0.05) do
        sleep(60)
      rescue StandardError
        flunk
      end
    end
  end

  def test_the_inner_one_leaves_the_outer_one_alone
    result = Plait.timeout(60) do
      Plait.timeout(0.05) { sleep(60) }
    rescue Plait::TimeoutError
      :inner
    end
    assert_equal(:inner, result)
  end

  def test_the_outer_one_passes_through_the_inner_one
    assert_raises(Plait::TimeoutError) do
      Plait.timeout(0.05) do
        Plait.timeout(60) { sleep(60) }
      rescue Plait::TimeoutError
        flunk("the inner limit claims the outer one's expiry")
      end
    end
  end

  # Ruby's own clocks refuse it.
  def test_a_limit_beyond_all_clocks
    kinds = %i[threads fibers processes] + [*(:ractors unless Support::Ractors.unavailable)]
    result = Support::FreshRuby.run(<<~RUBY, flags: ["-W0"])
      require "plait"
      [1e20, 10**30, Float::INFINITY].each do |seconds|
        print(Plait.timeout(seconds) { sleep(0.05) && 7 })
        #{kinds}.each { |on| print(Plait.map([7], on: on, timeout: seconds) { |n| sleep(0.05) && n }.first) }
      end
    RUBY
    assert_equal(["7" * 3 * kinds.size.succ, ""], [result.out, result.err])
  end

  def test_no_time_left
    assert_raises(Plait::TimeoutError) { Plait.timeout(0) { flunk } }
  end

  def test_in_fibers
    Plait.run(on: :fibers) do
      assert_raises(Plait::TimeoutError) { Plait.timeout(0.05) { sleep(60) } }
      assert_equal(:inner, Plait.timeout(60) { Plait.timeout(0.05) { sleep(60) } rescue :inner }) # rubocop:disable Style/RescueModifier
    end
  end
end
