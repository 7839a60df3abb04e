# frozen_string_literal: true

require "test_helper"
require "support/scheduler_cases"

# Kernel#sleep in fibers, which the extension does in C.
class SchedulerSleepTest < Minitest::Test
  include SchedulerCases

  MANY = 200

  def test_fibers_wake_in_the_order_of_their_times_and_none_before
    times = Array.new(MANY) { |index| 0.01 + ((index * 7 % MANY) * 0.0005) }
    # On a busy machine another process may run between the clock of a fiber and its sleep: its due is then the test's error.
    assert(20.times.any? { dues_of(times).each_cons(2).all? { |one, other| one <= other + 0.0005 } })
  end

  # On a busy machine some may have slept enough before they are raised into: the later tries sleep longer.
  def test_one_that_is_raised_into_does_not_wake_again
    raised, woken = MANY.times.partition(&:even?)
    expected = [raised.map { |index| [:raised, index] }, woken.map { |index| [:woken, index] }]
    assert([0.05, 0.05, 0.5, 2, 5].any? { |time| ends_of_sleepers(time) == expected })
  end

  # On a busy machine the loop may come back when all are due.
  def test_timers_of_others_fire_meanwhile
    assert(5.times.any? { order_of_timers == %i[alarm slept timeout] })
  end

  def order_of_timers
    [].tap do |order|
      with_scheduler do |scheduler|
        Fiber.schedule { scheduler.after(0.01) { order << :alarm } }
        Fiber.schedule { sleep(0.05).then { order << :slept } }
        Fiber.schedule { assert_raises(Plait::TimeoutError) { Plait.timeout(0.1) { sleep(10) } }.then { order << :timeout } }
      end
      assert_equal(%i[alarm slept timeout], order.sort)
    end
  end

  def test_what_sleeps_is_kept_and_may_move
    woken = with_scheduler do |_|
      [].tap do |all|
        MANY.times { |index| Fiber.schedule { "text #{index}".then { |text| sleep(0.01).then { all << text } } } }
        GC.start
        GC.compact if GC.respond_to?(:compact)
      end
    end

    assert_equal MANY.times.map { |index| "text #{index}" }.sort, woken.sort
  end

  def test_what_is_no_time_is_refused_as_without_a_scheduler
    with_scheduler do |_|
      Fiber.schedule do
        assert_raises(ArgumentError) { sleep(-1) }
        assert_raises(TypeError) { sleep("1") }
      end
    end
  end

  def test_rational_times_and_none
    assert_operator with_scheduler { |_| [].tap { |all| Fiber.schedule { all << nap(Rational(1, 100)) } } }.first, :>=, 0.01
  end

  private

  # @return [Array<Array>] the raised ones in their order, the others sorted
  def ends_of_sleepers(time)
    ended = []
    with_scheduler do |scheduler|
      sleepers = Array.new(MANY) { |index| Fiber.schedule { doze(time, index, ended) } }
      sleepers.each_slice(2) { |fiber, _| scheduler.interrupt(fiber, Interrupt, "enough") }
    end
    assert_equal(MANY.times.to_a, ended.map(&:last).sort, "each ends once")
    raised, woken = ended.partition { |how, _| how == :raised }
    [raised, woken.sort]
  end

  def dues_of(times)
    dues = []
    with_scheduler { |_| times.each { |time| Fiber.schedule { dues << due_after(time) } } }
    assert_equal times.size, dues.size
    dues
  end

  def due_after(time)
    due = SchedulerCases.now + time
    sleep(time)
    assert_operator SchedulerCases.now, :>=, due
    due
  end

  def nap(time)
    began = SchedulerCases.now
    sleep(time)
    SchedulerCases.now - began
  end

  def doze(time, index, ended)
    sleep(time)
    ended << [:woken, index]
  rescue Interrupt
    ended << [:raised, index]
  end
end
