# frozen_string_literal: true

require "test_helper"
require "plait"
require "support/needing_async"

# Pools next to, inside of, and underneath other things.
class ProcessesCompanyTest < Minitest::Test
  include Support::NeedingAsync

  def map(items, **options, &block) = Plait.map(items, on: :processes, **options, &block)

  def test_pools_in_several_threads
    assert_no_leaks do
      sums = 4.times.map { |t| Thread.new { map(1..200, limit: 2) { |x| x * t }.sum } }.map(&:value)

      assert_equal([0, 20_100, 40_200, 60_300], sums)
    end
  end

  def test_a_worker_does_not_hold_the_pipes_of_another_pool
    # The long pool forks while the short one is at work; if it kept copies, the short one's workers would not see its end.
    gate, open = IO.pipe
    long = Thread.new { map(1..2, limit: 2) { gate.wait_readable(60) ? true : nil } }
    20.times { map(1..4, limit: 2) { |x| x } }

    assert_predicate(long, :alive?)
    open.write("!")

    assert_equal([true, true], long.value)
  ensure
    [gate, open].each(&:close)
  end

  def test_nested
    assert_no_leaks do
      sums = map(1..3, limit: 2) { |x| in_two_workers { |y| [x * y, Process.pid] } }

      assert_equal([55, 110, 165], sums.map { |pairs| pairs.sum(&:first) })
      assert_equal(6, sums.flat_map { |pairs| pairs.map(&:last) }.uniq.size)
    end
  end

  # The first of ten items waits for the last one, which so is the other worker's.
  def in_two_workers
    gate, open = IO.pipe
    map(1..10, limit: 2) do |n|
      n == 1 ? gate.read(1) : (open.write("!") if n == 10)
      yield n
    end
  ensure
    [gate, open].each(&:close)
  end

  def test_nested_workers_go_down_with_their_parent
    reader, writer = IO.pipe
    assert_no_leaks do
      assert_raises(RuntimeError) do
        map([:deep, :bad], limit: 2) do |x|
          raise "now" if x == :bad && 2.times { reader.wait_readable(20) && reader.sysread(1) }

          map(1..2, limit: 2) { writer.syswrite("!") && sleep }
        end
      end
    end
  ensure
    [reader, writer].each(&:close)
  end

  # The workers wait for what another fiber does while the pool's own fiber waits for them.
  def assert_cooperative
    gate, open = IO.pipe
    result = nil
    mapping = -> { result = map(1..4, limit: 2) { |x| gate.wait_readable(60) && x } }
    opening = -> { sleep(0.05) && open.write("!") }
    yield(mapping, opening).join

    assert_equal([1, 2, 3, 4], result)
  ensure
    [gate, open].each(&:close)
  end

  def test_inside_a_plait_scheduler
    assert_no_leaks do
      assert_cooperative do |*jobs|
        Thread.new do
          Fiber.set_scheduler(Plait::Scheduler.new)
          jobs.each { |job| Fiber.schedule(&job) }
        end
      end
    end
  end

  def test_inside_async
    need_async
    assert_no_leaks do
      assert_cooperative do |*jobs|
        Thread.new { Async { |task| jobs.each { |job| task.async { job.call } } } }
      end
    end
  end

  def test_the_body_has_no_scheduler_and_no_thread_locals
    seen = nil
    Thread.new do
      Fiber.set_scheduler(Plait::Scheduler.new)
      Fiber.schedule do
        Thread.current[:mine] = 1
        seen = map([1], limit: 1) do
          [Fiber.current_scheduler, Fiber.scheduler, Thread.current[:mine], Thread.main == Thread.current]
        end
      end
    end.join

    assert_equal([[nil, nil, nil, true]], seen)
  end

  def test_a_stranger_who_waits_for_all_children
    stop = false
    reaper = Thread.new { wait_for_anybody until stop }
    values = map(1..20, limit: 2) { |x| sleep(0.002) && x }
    outcomes = map(1..20, limit: 2, on_error: :collect) { |x| x == 3 ? exit!(1) : x }

    assert_equal((1..20).to_a, values)
    assert_equal([3], outcomes.reject(&:ok?).map(&:item))
  ensure
    stop = true
    reaper.join
  end

  def wait_for_anybody
    Process.wait(-1)
  rescue Errno::ECHILD
    sleep(0.001)
  end

  def test_the_callers_child_status_is_left_alone
    system("exit 3")
    map(1..4, limit: 2) { |x| x }

    assert_equal(3, $?.exitstatus) # rubocop:disable Style/SpecialGlobalVars
  end
end
