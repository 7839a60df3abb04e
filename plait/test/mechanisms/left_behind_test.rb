# frozen_string_literal: true

require "test_helper"
require "plait"

# Fibers that a body starts by Fiber.schedule and does not wait for.
class LeftBehindTest < Minitest::Test
  class Expected < StandardError; end

  def setup = @ended = []

  def leave_behind
    Fiber.schedule do
      sleep
    ensure
      @ended << :cancelled
    end
  end

  # In the calling thread; and on a loop aside, for a caller in a fiber that no loop turns.
  PLACES = { here: ->(&run) { run.call }, aside: ->(&run) { Enumerator.new { |values| values << run.call }.next } }.freeze

  def self.each_way(name, &run)
    %i[fibers hybrid].product(PLACES.keys).each do |mechanism, place|
      define_method("test_#{name}_on_#{mechanism}_#{place}") do
        assert_no_leaks { PLACES.fetch(place).call { instance_exec(mechanism, &run) } }
      end
    end
  end

  each_way("a_map_that_fails") do |mechanism|
    assert_raises(Expected) { Plait.map([1], on: mechanism) { leave_behind && raise(Expected) } }
    assert_equal([:cancelled], @ended)
  end

  each_way("a_scope_that_fails") do |mechanism|
    assert_raises(Expected) { Plait.run(on: mechanism) { leave_behind && raise(Expected) } }
    assert_equal([:cancelled], @ended)
  end

  each_way("a_task_that_fails") do |mechanism|
    assert_raises(Expected) { Plait.run(on: mechanism) { |scope| scope.async { leave_behind && raise(Expected) } } }
    assert_equal([:cancelled], @ended)
  end

  each_way("the_first_value") do |mechanism|
    assert_equal(1, Plait.first([1], on: mechanism) { |n| leave_behind && n })
    assert_equal([:cancelled], @ended)
  end

  each_way("an_enumeration_that_is_left") do |mechanism|
    Plait.each_result([1, 2], on: mechanism) { leave_behind }.each { break }

    assert_equal([:cancelled], @ended.uniq)
  end

  each_way("a_success_waits") do |mechanism|
    values = Plait.map([1, 2], on: mechanism) { |n| Fiber.schedule { sleep(0.02).then { @ended << n } } && n }

    assert_equal([1, 2], values)
    assert_equal([1, 2], @ended.sort)
  end

  each_way("a_scope_that_succeeds_waits") do |mechanism|
    assert_equal(1, Plait.run(on: mechanism) { Fiber.schedule { sleep(0.02).then { @ended << :late } } && 1 })
    assert_equal([:late], @ended)
  end

  each_way("a_deadline_ends_the_wait") do |mechanism|
    error = assert_raises(Plait::DeadlineExceeded) { Plait.map([1], on: mechanism, deadline: 3) { leave_behind && 1 } }
    assert_match(/left behind/, error.message)
    assert_equal([:cancelled], @ended)
  end

  each_way("a_deadline_ends_the_wait_of_a_scope") do |mechanism|
    assert_raises(Plait::DeadlineExceeded) { Plait.run(on: mechanism, deadline: 3) { leave_behind && 1 } }
    assert_equal([:cancelled], @ended)
  end

  each_way("a_deadline_with_outcomes") do |mechanism|
    outcomes = Plait.map([1], on: mechanism, deadline: 3, on_error: :collect) { |n| leave_behind && n }

    assert_equal([1], outcomes.map(&:value))
    assert_equal([:cancelled], @ended)
  end

  each_way("a_time_limit_around_it") do |mechanism|
    assert_raises(Plait::TimeoutError) { Plait.timeout(3) { Plait.map([1], on: mechanism) { leave_behind } } }
    assert_equal([:cancelled], @ended)
  end

  each_way("an_error_of_its_own") do |mechanism|
    assert_raises(Expected) do
      Plait.map([1], on: mechanism) { leave_behind && Fiber.schedule { sleep(0.01) && raise(Expected) } && 1 }
    end
    assert_equal([:cancelled], @ended)
  end

  # It is that loop's.
  def test_in_a_loop_of_the_callers
    thread = Thread.new do
      Fiber.set_scheduler(Plait::Scheduler.new)
      Fiber.schedule do
        Plait.map([1], on: :fibers) { Fiber.schedule { wait_until { @ended.any? }.then { @ended << :left } } }
        @ended << :map
      end
    end

    assert(thread.join(60))
    assert_equal(%i[map left], @ended)
  end

  %i[fibers hybrid].each do |inner|
    define_method("test_in_processes_with_#{inner}") do
      reader, writer = IO.pipe
      assert_no_leaks do
        Plait.map([1], on: [:processes, inner]) do
          Fiber.schedule do
            sleep
          ensure
            writer.syswrite("cancelled")
          end
          1
        end
      end

      assert_equal("cancelled", reader.readpartial(20))
    ensure
      [reader, writer].each(&:close)
    end
  end
end
