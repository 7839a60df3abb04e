# frozen_string_literal: true

require "test_helper"
require "support/scheduler_cases"

# Plait::Scheduler#after
class SchedulerAlarmTest < Minitest::Test
  include SchedulerCases

  def test_it_rings_in_the_order_of_the_times
    rung = []
    with_scheduler do |scheduler|
      Fiber.schedule do
        scheduler.after(0.5) { rung << :second }
        scheduler.after(0.01) { rung << :first }
        sleep(0.001) until rung.size == 2
      end
    end
    assert_equal(%i[first second], rung)
  end

  def test_not_before_its_time
    late = with_scheduler do |scheduler|
      started = SchedulerCases.now
      Fiber.schedule do
        over = nil
        scheduler.after(0.02) { over = SchedulerCases.now }
        sleep(0.001) until over
        started = over - started
      end
      scheduler.run
      started
    end
    assert_operator(late, :>=, 0.02)
  end

  def test_a_cancelled_one_does_not_ring
    rung = []
    with_scheduler do |scheduler|
      Fiber.schedule do
        alarm = scheduler.after(0.005) { rung << :cancelled }
        scheduler.after(0.01) { rung << :other }
        alarm.cancel
        alarm.cancel
        sleep(0.001) until rung.include?(:other)
      end
    end
    assert_equal([:other], rung)
  end

  def test_it_keeps_no_loop_running
    rung = false
    started = SchedulerCases.now
    with_scheduler { |scheduler| scheduler.after(60) { rung = true } }
    refute(rung)
    assert_operator(SchedulerCases.now - started, :<, 30)
  end

  def test_it_may_set_the_next_one
    rings = 0
    with_scheduler do |scheduler|
      again = -> { scheduler.after(0.001) { again.call if (rings += 1) < 5 } }
      Fiber.schedule do
        again.call
        sleep(0.001) until rings == 5
      end
    end
    assert_equal(5, rings)
  end

  def test_another_thread_is_told
    error = with_scheduler do |scheduler|
      Thread.new { assert_raises(Plait::UsageError) { scheduler.after(1) { nil } } }.value
    end
    assert_match(/thread of the loop/, error.message)
  end
end
