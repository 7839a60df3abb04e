# frozen_string_literal: true

require "test_helper"
require "support/fresh_ruby"
require "plait"

# What the pool does when nothing goes wrong.
class ProcessesTest < Minitest::Test
  def map(items, **options, &block) = Plait.map(items, on: :processes, **options, &block)

  # A pipe that bodies wait for without emptying it.
  def with_gate
    reader, writer = IO.pipe
    yield reader, writer
  ensure
    [reader, writer].each(&:close)
  end

  def opened?(gate) = gate.wait_readable(60) ? true : nil

  def test_results_come_in_input_order
    assert_equal((0...200).map { |x| x * x }, map(0...200, limit: 3) { |x| x * x })
  end

  def test_the_block_and_what_it_closes_over_reach_the_workers
    table = { 1 => "one", lambda: ->(x) { x + 1 } }

    assert_equal(["one", 3], map([1, 2], limit: 2) { |x| table[x] || table[:lambda].call(x) })
  end

  def test_no_items
    assert_no_leaks { assert_empty(map([]) { flunk }) }
  end

  def test_workers_are_other_processes_and_only_as_many_as_needed
    pids = map(1..3, limit: 50) { Process.pid }

    assert_operator(pids.uniq.size, :<=, 3)
    refute_includes(pids, Process.pid)
  end

  def test_never_more_than_the_limit_at_once
    with_gate do |reader, log|
      map(1..300, limit: 3) do |x|
        log.syswrite("+")
        sleep(0.001) if (x % 7).zero?
        log.syswrite("-")
      end
      log.close
      now = 0
      levels = reader.read.each_char.map { |sign| now += sign == "+" ? 1 : -1 }

      assert_equal(600, levels.size)
      assert_operator(levels.max, :<=, 3)
    end
  end

  def test_the_limit_is_used
    with_gate do |gate, open|
      begun, note = IO.pipe
      opener = Thread.new { begun.read(3) && open.write("!") }

      refute_includes(map(1..3, limit: 3) { note.write("!") && opened?(gate) }, nil)
      opener.join
    ensure
      [begun, note].each(&:close)
    end
  end

  def test_finish_order_and_labels
    outcomes = with_gate do |gate, open|
      Plait.each_result(%i[late early], on: :processes, limit: 2) { |x| x == :late ? opened?(gate) : x }
           .map { |outcome| outcome.tap { open.write("!") } }
    end

    assert_equal([1, 0], outcomes.map(&:index))
    assert_equal([1, 0], outcomes.map(&:worker))
    assert_equal(%i[early late], outcomes.map(&:item))
    assert(outcomes.all? { |o| o.started_at <= o.finished_at && o.attempts == 1 })
  end

  def test_an_endless_source_is_pulled_hardly_further_than_it_is_consumed
    [->(x) { x }, ->(x) { sleep(0.03) && x }].each do |body|
      pulled = 0
      endless = Enumerator.new { |y| loop { y << (pulled += 1) } }
      taken = Plait.each_result(endless.lazy, on: :processes, limit: 2, &body).first(20)

      assert_equal(20, taken.size)
      assert_operator(pulled, :<=, 20 + 20 + (2 * 2))
    end
  end

  # The first ones teach the pool that items are tiny, so that the last two come in one write; each of them waits for the
  # other to have begun.
  def test_slow_items_do_not_wait_behind_each_other
    with_gate do |first, first_begun|
      with_gate do |second, second_begun|
        items = Array.new(2000, :tiny) + %i[first second]
        results = map(items, limit: 2) do |x|
          case x
          when :first then first_begun.write("!") && opened?(second)
          when :second then second_begun.write("!") && opened?(first)
          else x
          end
        end

        refute_nil(results[-1])
        refute_nil(results[-2])
      end
    end
  end

  # The slow one ends only when all before it have arrived.
  def test_a_finished_item_is_not_held_back_by_a_slow_one_behind_it
    items = Array.new(500, :tiny) + [:slow] + Array.new(500, :tiny)
    arrived = 0
    with_gate do |gate, open|
      results = Plait.each_result(items, on: :processes, limit: 1) { |x| x == :tiny || opened?(gate) }
      results.each { open.write("!") if (arrived += 1) == 500 }
      refute_nil(results.to_a[500].value)
    end

    assert_equal(1001, arrived)
  end

  # What waits behind it goes elsewhere meanwhile: it ends only when all others have arrived.
  def test_nothing_waits_behind_a_slow_one_while_others_are_free
    items = Array.new(500, :tiny) + [:slow] + Array.new(500, :tiny)
    arrived = 0
    with_gate do |gate, open|
      slow = nil
      Plait.each_result(items, on: :processes, limit: 2) { |x| x == :tiny || opened?(gate) }.each do |outcome|
        slow = outcome if outcome.item == :slow
        open.write("!") if (arrived += 1) == 1000
      end
      refute_nil(slow.value)
    end
  end

  # The next item is given out only when an answer has arrived, or at least been written.
  def test_a_slow_source_does_not_hide_results
    delivered = 0
    seen = []
    with_gate do |gate, open|
      source = Enumerator.new do |y|
        10.times do |i|
          y << i
          gate.wait_readable(60) && gate.read_nonblock(1) && sleep(0.02)
          seen << delivered
        end
      end
      Plait.each_result(source, on: :processes, limit: 4) { |x| open.write("!") && x }.each { delivered += 1 }
    end

    assert_operator(seen.last, :>=, 1, "nothing had arrived when all ten were done")
  end

  def test_each_worker_has_random_numbers_of_its_own
    with_gate do |gate, open|
      begun, note = IO.pipe
      opener = Thread.new { begun.read(6) && open.write("!") }
      drawn = map(1..6, limit: 6) { note.write("!") && opened?(gate) && [Process.pid, rand(1 << 60)] }
      opener.join

      assert_equal([6, 6], drawn.transpose.map { |column| column.uniq.size })
    ensure
      [begun, note].each(&:close)
    end
  end

  def test_what_bodies_print_is_neither_lost_nor_doubled
    result = Support::FreshRuby.run(<<~RUBY)
      require "plait"
      print "parent\n"
      at_exit { print "at exit\n" }
      Plait.map(1..20, on: :processes, limit: 2) { |x| puts "line \#{x}" }
      Plait.run(on: :processes) { |scope| scope.async { print "task\n" } }
    RUBY

    assert_equal(["at exit", "parent", "task", *(1..20).map { |x| "line #{x}" }].sort, result.out.lines(chomp: true).sort)
    assert_empty(result.err)
  end

  def test_limits_in_pairs_are_refused
    error = assert_raises(Plait::UsageError) { map([1], limit: [2, 3]) { 1 } }

    assert_match(/pairs/, error.message)
  end

  def test_memory_stays_flat
    result = Support::FreshRuby.run(<<~RUBY)
      require "plait"
      def peak = File.read("/proc/self/status")[/VmHWM:\\s+(\\d+)/, 1].to_i
      run = ->(n) { Plait.each_result((1..n).lazy.map { |x| "item \#{x}" * 10 }, on: :processes, limit: 2) { |s| s * 3 }.each { |o| o.value! } }
      run.(20_000)
      before = peak
      run.(100_000)
      print peak - before
    RUBY

    assert(result.success?, result.err)
    assert_operator(result.out.to_i, :<, 8_000, "kB more at the peak of 100,000 items than of 20,000")
  end

  def test_a_body_may_start_processes_that_outlive_its_worker
    with_gate do |reader, writer|
      values = map([1, 2], limit: 2) do |x|
        fork { writer.close || (reader.read && exit!(0)) } if x == 1 # holds all the pipes of the worker open
        x
      end

      assert_equal([1, 2], values)
      writer.close
    end
  end

  def test_workers_are_called_workers_in_the_process_list
    title, = map([1], limit: 1) { File.read("/proc/self/cmdline") }

    assert_match(/plait worker 0/, title)
  end
end
