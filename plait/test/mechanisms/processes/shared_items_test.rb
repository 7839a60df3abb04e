# frozen_string_literal: true

require "test_helper"
require "plait"
require "tempfile"

# Items that workers take themselves: those of an Array or a Range, where no single outcome is asked for.
class ProcessesSharedItemsTest < Minitest::Test
  Table = Plait.const_get(:NativeCursor) if Plait.const_get(:Native).available?

  def setup
    skip("the extension is not compiled: bin/setup") unless defined?(Table)
  end

  def map(items, **options, &block) = Plait.map(items, on: :processes, **options, &block)

  def test_each_item_is_taken_once_and_in_turn
    table = Table.new(3)
    assert_nil(table.last(2))
    assert_equal([0, 1, 2, nil], [table.take(0, 3), table.take(2, 3), table.take(0, 3), table.take(1, 3)])
    assert_equal([2, nil, 1], [0, 1, 2].map { |slot| table.last(slot) })
    assert_equal(3, table.taken)
    table.close
    assert_nil(table.take(1, 9))
  end

  def test_slots_that_are_not_there
    assert_raises(IndexError) { Table.new(2).take(2, 9) }
    assert_raises(IndexError) { Table.new(2).last(-1) }
    assert_raises(ArgumentError) { Table.new(1 << 16) }
    assert_raises(ArgumentError) { Table.new(2).send(:initialize, 2) }
    assert_raises(ArgumentError) { Table.allocate.taken }
  end

  # Each process notes what it takes, and is killed at any moment. A taken item without a note is the last one of a dead process.
  def test_what_a_killed_worker_has_taken_last_is_known
    12.times do |round|
      table = Table.new(4)
      workers = Array.new(4) { |slot| taker(table, slot) }.to_h
      sleep(0.001 * round)
      workers.each_key { |pid| Process.kill(:KILL, pid) && Process.wait(pid) }
      noted = workers.flat_map { |_, pipe| pipe.read.unpack("L*") }
      assert_equal(noted.uniq, noted)
      assert_empty([*0...table.taken] - noted - Array.new(4) { |slot| table.last(slot) })
    end
  end

  def taker(table, slot)
    reader, writer = IO.pipe(binmode: true)
    pid = fork do
      while (index = table.take(slot, 1 << 30))
        writer.syswrite([index].pack("L"))
      end
    ensure
      exit!
    end
    writer.close
    [pid, reader]
  end

  def test_the_worker_that_is_free_takes_the_next_item
    gate, open = IO.pipe
    pids = map(0..60, limit: 2) do |n|
      n.zero? ? gate.read(1) : (open.write("!") if n == 60)
      Process.pid
    end
    assert_equal([1, 60], pids.tally.values)
  ensure
    [gate, open].each(&:close)
  end

  def test_a_failure_ends_the_others_and_no_item_starts_after_it
    Tempfile.open do |log|
      error = assert_raises(ArgumentError) do
        assert_no_leaks do
          map(0..9_999, limit: 2) { |n| n == 20 ? raise(ArgumentError, "no 20") : log.syswrite(".") && sleep(0.002) }
        end
      end
      assert_match(/\Ano 20/, error.message)
      assert_equal(20, error.item)
      assert_operator(log.size, :<, 5_000)
    end
  end

  def test_a_worker_that_dies_fails_its_item
    { 9 => -> { Process.kill(:KILL, Process.pid) && sleep }, nil => -> { exit!(3) } }.each do |signal, die|
      error = assert_raises(Plait::WorkerDied) { assert_no_leaks { map(1..500, limit: 2) { |n| n == 100 ? die.call : n } } }
      assert_equal([100, signal], [error.item, error.status.termsig])
    end
  end

  # A place in the middle of the answers: the parent must neither lose nor invent one.
  def test_workers_that_are_killed_from_outside_at_any_moment
    20.times do |round|
      values = nil
      killer = Thread.new { sleep(0.002 * round) && kill_a_child }
      begin
        values = map(0...2_000, limit: 2) { |n| n * 2 }
      rescue Plait::WorkerDied => e
        assert_includes(0...2_000, e.item)
      end
      killer.join
      assert_equal([*0...2_000].map { |n| n * 2 }, values) if values
    end
  end

  def kill_a_child
    child = File.read("/proc/self/task/#{Process.pid}/children").split.first&.to_i
    child ||= Dir["/proc/self/task/*/children"].flat_map { |file| File.read(file).split }.first&.to_i
    Process.kill(:KILL, child) if child
  rescue Errno::ESRCH, Errno::ENOENT
    nil
  end

  def test_two_items_that_are_one_object_are_two_copies
    shared = { count: 0 }
    assert_equal([1] * 8, map([shared] * 8, limit: 1) { |item| item[:count] += 1 })
    assert_equal(0, shared[:count])
  end

  def test_an_item_is_as_it_was_before_the_first_fork
    data = Array.new(6) { { n: 0 } }
    seen = map(data, limit: 1) do |item|
      item[:n].tap { data.each { |other| other[:n] += 1 } }
    end
    assert_equal([0] * 6, seen)
    text = +"a"
    assert_equal(["a"] * 4, map([text] * 4, limit: 1) { |item| item.tap { text << "b" } })
  end

  def test_few_workers_start_after_a_death
    Tempfile.open do |log|
      assert_raises(Plait::WorkerDied) do
        map(0..99_999, limit: 1_000) { |n| log.syswrite(".") && (n.zero? ? exit!(1) : sleep(0.5)) }
      end
      assert_operator(log.size, :<, 1_000)
    end
  end

  def test_large_items_are_sent
    items = Array.new(5) { |n| n.to_s * 1_000_000 }
    assert_equal(items, map(items, limit: 2) { |item| item })
  end

  def test_an_array_with_an_each_of_its_own
    items = [1, 2, 3]
    def items.each = yield(5)
    assert_equal([5], map(items, limit: 1) { |n| n })
  end

  def test_what_cannot_travel
    error = assert_raises(Plait::UnmarshalableError) { map([1, -> {}, 3], limit: 2) { |item| item } }
    assert_match(/\Athe item is a Proc/, error.message)
    error = assert_raises(Plait::UnmarshalableError) { map([1, 2], limit: 1) { |_| -> {} } }
    assert_match(/\Athe result is a Proc/, error.message)
  end

  def test_an_array_that_changes_meanwhile
    items = Array.new(40) { |n| n }
    runs, run = IO.pipe
    changer = Thread.new { runs.read(1) && items.clear }
    assert_equal([*0...40], map(items, limit: 2) { |n| run.write("!") && sleep(0.002) && n })
    changer.join
  ensure
    [runs, run].each(&:close)
  end

  def test_pairs_whose_workers_run_one_item_each_get_their_items_sent
    assert_equal([2, 4, 6], Plait.map([1, 2, 3], on: %i[processes threads], limit: [2, 1]) { |n| n * 2 })
  end

  def test_many_tiny_items_and_large_results
    assert_equal((0...30_000).sum, map(0...30_000, limit: 3) { |n| n }.sum)
    assert_equal([300_000] * 40, map(1..40, limit: 2) { |n| n.to_s[0] * 300_000 }.map(&:bytesize))
  end

  def test_in_a_fiber_of_a_loop
    values = Plait.run(on: :fibers) { |scope| scope.async { map(1..20, limit: 2) { |n| n * 3 } }.value }
    assert_equal([*1..20].map { |n| n * 3 }, values)
  end
end
