# frozen_string_literal: true

require "test_helper"
require "plait"
require "support/patience"
require "support/stuck"
require "tempfile"

# Several processes of several threads or fibers.
class CompositeTest < Minitest::Test
  INNER = %i[threads fibers hybrid].freeze

  def each_pair
    INNER.each { |inner| yield [:processes, inner] }
  end

  def opened?(gate) = gate.wait_readable(60) ? true : nil

  def test_results_come_in_input_order
    each_pair { |on| assert_equal((1..300).map { |x| x * 2 }, Plait.map(1..300, on: on, limit: 6) { |x| x * 2 }, on) }
  end

  def test_nothing_is_left_behind
    each_pair do |on|
      assert_no_leaks { Plait.map(1..20, on: on, limit: 6) { |x| sleep(0.001) && x } }
      assert_no_leaks { Plait.each_result(1..100, on: on, limit: 6) { |x| x < 5 ? x : sleep }.first(2) }
      assert_no_leaks do
        assert_raises(KeyError) { Plait.map(1..9, on: on, limit: 6) { |x| x == 5 ? raise(KeyError) : sleep } }
      end
    end
  end

  # None ends before all have begun.
  def test_all_are_in_flight_at_once
    each_pair do |on|
      gate, open = IO.pipe
      begun, note = IO.pipe
      opener = Thread.new { begun.read(16) && open.write("!") }
      outcomes = Plait.map(1..16, on: on, limit: 16, on_error: :collect) { note.write("!") && opened?(gate) }
      opener.join

      assert(outcomes.all?(&:value), on)
      assert_equal(16, outcomes.map(&:worker).uniq.size)
      assert_match(/\A\d+\.\d+\z/, outcomes.first.worker)
    ensure
      [gate, open, begun, note].each(&:close)
    end
  end

  def test_never_more_than_the_limit
    each_pair do |on|
      [5, [2, 2]].each do |limit|
        counter, log = IO.pipe
        Plait.map(1..100, on: on, limit: limit) { log.syswrite("+") && sleep(0.002) && log.syswrite("-") }
        log.close
        now = highest = 0
        counter.read.each_char { |sign| highest = [highest, now += (sign == "+" ? 1 : -1)].max }
        counter.close

        assert_operator(highest, :<=, Array(limit).size == 2 ? 4 : 5, on)
      end
    end
  end

  # The first ends only when the last has arrived.
  def test_items_arrive_while_others_run
    each_pair do |on|
      gate, open = IO.pipe
      source = Enumerator.new { |y| %i[slow a b c].each { |x| (y << x) && sleep(0.02) } }
      order = Plait.each_result(source, on: on, limit: [1, 2]) { |x| x == :slow ? opened?(gate) : true }.map do |o|
        open.write("!") if o.item == :c
        [o.item, o.value.nil?]
      end

      assert_equal([[:a, false], [:b, false], [:c, false], [:slow, false]], order, on)
    ensure
      [gate, open].each(&:close)
    end
  end

  def test_a_dead_process_takes_along_only_what_ran_in_it
    each_pair do |on|
      outcomes = Plait.map(1..200, on: on, limit: [2, 4], on_error: :collect) do |x|
        sleep(0.001)
        exit!(3) if x == 100
        x
      end
      dead = outcomes.reject(&:ok?)

      assert_includes(dead.map(&:item), 100)
      assert_operator(dead.size, :<=, 4)
      assert(dead.all? { |o| o.error.is_a?(Plait::WorkerDied) })
      assert_equal((1..200).to_a - dead.map(&:item), outcomes.filter_map(&:value))
    end
  end

  def test_retries_after_a_death
    Tempfile.create do |once|
      each_pair do |on|
        once.truncate(0)
        outcomes = Plait.map(1..50, on: on, limit: [2, 4], retries: { count: 2, base: 0.001 }) do |x|
          File.write(once.path, "!") && exit!(3) if x == 20 && File.empty?(once.path)
          x
        end

        assert_equal((1..50).to_a, outcomes, on)
      end
    end
  end

  def test_errors_and_timeouts_are_outcomes
    each_pair do |on|
      outcomes = Plait.map(%i[ok bad late], on: on, limit: 3, timeout: 1, on_error: :collect) do |what|
        sleep if what == :late
        raise KeyError if what == :bad
      end

      assert_equal([NilClass, KeyError, Plait::TimeoutError], outcomes.map { |o| o.error.class }, on)
    end
  end

  def test_a_body_that_holds_up_everything_is_ended
    each_pair do |on|
      outcomes = assert_no_leaks do
        Plait.map(1..8, on: on, limit: [2, 2], timeout: 2, on_error: :collect) { |x| x == 3 ? Support::Stuck.call(60) : x }
      end

      assert_kind_of(Plait::TimeoutError, outcomes[2].error, on)
      assert_operator(outcomes.count(&:ok?), :>=, 6)
    end
  end

  # The item that began first is the first one that is overdue, but the other one's time is over when the worker is killed.
  # On a busy machine the other one may begin seconds later.
  def test_all_items_whose_time_is_over_say_so
    items = Enumerator.new do |queue|
      queue << :waits
      sleep(0.4)
      queue << :sticks
    end
    outcomes = Support::Patience.patiently(4) do
      Plait.map(items, on: %i[processes threads], limit: [1, 2], timeout: 3, on_error: :collect) do |what|
        what == :waits ? sleep : Support::Stuck.call(60)
      end
    end

    assert_equal([Plait::TimeoutError] * 2, outcomes.map { |outcome| outcome.error.class })
  end

  def test_cancellation_runs_ensure_blocks
    each_pair do |on|
      reader, writer = IO.pipe
      begun = Queue.new
      Support::Patience.patiently do
        assert_raises(KeyError) do
          Plait.map(1..4, on: on, limit: [1, 4]) do |x|
            begun << x
            wait_until { begun.size == 4 } && raise(KeyError) if x == 4

            sleep
          ensure
            writer.syswrite(x.to_s)
          end
        end
      end
      writer.close

      assert_equal("1234", reader.read.chars.sort.join, on)
      reader.close
    end
  end

  def test_a_busy_loop_on_an_event_loop_is_interrupted
    reader, writer = IO.pipe
    assert_no_leaks do
      Support::Patience.patiently do
        assert_raises(KeyError) do
          Plait.map(%i[spin bad], on: %i[processes fibers], limit: [2, 1]) do |what|
            raise KeyError if what == :bad && reader.wait_readable(60)

            writer.syswrite("begun ")
            loop { what.to_s }
          ensure
            writer.syswrite("ensured") if what == :spin
          end
        end
      end
    end
    writer.close

    assert_equal("begun ensured", reader.read)
  ensure
    [reader, writer].each(&:close)
  end

  # With a timeout each attempt is announced, from the thread or fiber that makes it, into the same pipe.
  def test_announcements_while_the_pipe_is_full
    each_pair do |on|
      items = Array.new(40) { |i| "x" * (i.even? ? 300_000 : 10) }
      results = Plait.each_result(items, on: on, limit: [1, 4], timeout: 60) { |s| sleep(0.001) && s }.map do |outcome|
        sleep(0.01)
        outcome.value!.bytesize
      end

      assert_equal(items.map(&:bytesize).sort, results.sort, on)
    end
  end

  def test_large_values_and_tiny_ones
    each_pair do |on|
      items = Array.new(60) { |i| "x" * (i % 3 == 0 ? 500_000 : 10) }

      assert_equal(items, Plait.map(items, on: on, limit: 4) { |s| s }, on)
    end
  end

  def test_the_limit_is_divided
    widths = Plait::Mechanisms.find(%i[processes threads]).method(:widths)
    processors = Etc.nprocessors

    assert_equal(processors * 10, widths.call(processors * 10).sum)
    assert_equal((processors * 10) + 1, widths.call((processors * 10) + 1).sum)
    assert_equal([1], widths.call(1))
    assert_equal([32, 32], widths.call([2, 32]))
  end

  def test_other_combinations_are_refused
    [%i[threads processes], %i[processes ractors], %i[processes processes], %i[fibers threads],
     %i[processes threads fibers], [:processes, 3]].each do |on|
      error = assert_raises(Plait::UsageError) { Plait.map([1], on: on) { 1 } }

      assert_match(/\[:processes, :threads\], \[:processes, :fibers\], \[:processes, :hybrid\]/, error.message)
    end
  end

  def test_tasks_of_a_scope_are_processes
    pids = Plait.run(on: %i[processes fibers]) { |scope| Array.new(2) { scope.async { Process.pid } }.map(&:value) }

    assert_equal(2, (pids - [Process.pid]).uniq.size)
  end
end
