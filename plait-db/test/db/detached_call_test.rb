# frozen_string_literal: true

require "test_helper"
require "support/interrupts"
require "support/waiting"
require "plait/db"
require "plait/db/detached_call"

class DBApartTest < Minitest::Test
  include Support::Interrupts
  include Support::Waiting

  DetachedCall = Plait::DB.const_get(:DetachedCall)
  MOST = 64

  def teardown
    wait_until { DetachedCall.threads.count.zero? }
    super
  end

  def apart(&block) = DetachedCall.call(discard: ->(value) { discarded << value }, &block)

  def discarded = @discarded ||= Queue.new

  # As many calls as there may be, which wait for `gate`.
  # @return [Array<Thread>]
  def fill(gate, count = MOST)
    threads = Array.new(count) { Thread.new { apart { gate.pop } } }
    wait_until { DetachedCall.threads.count == count }
    threads
  end

  def test_what_the_block_gives_and_what_it_raises
    assert_equal(7, apart { 7 })
    assert_equal("no", assert_raises(KeyError) { apart { raise KeyError, "no" } }.message)
    assert_equal("none", assert_raises(NotImplementedError) { apart { raise NotImplementedError, "none" } }.message)
    assert_match(/was killed/, assert_raises(Plait::WorkerDied) { apart { Thread.exit } }.message)
    refute_same(Thread.current, apart { Thread.current })
  end

  def test_who_comes_later_waits_for_one_to_end
    gate = Queue.new
    threads = fill(gate)
    late = Thread.new { apart { :late } }
    wait_until { DetachedCall.threads.count == MOST + 1 }
    refute(late.join(0.01))
    gate << 1
    assert_equal(:late, late.value)
    (MOST - 1).times { gate << 1 }
    assert_equal([1] * MOST, threads.map(&:value))
  end

  # A mask of ours would go before the caller's.
  def test_an_interrupt_that_the_caller_has_masked_does_not_come_while_it_waits_for_a_thread
    gate = Queue.new
    threads = fill(gate)
    got = Queue.new
    masked = Thread.new { Thread.handle_interrupt(RuntimeError => :never) { got << apart { :mine } } }
    masked.report_on_exception = false
    wait_until { DetachedCall.threads.count == MOST + 1 && masked.stop? }
    masked.raise(RuntimeError, "late")
    MOST.times { gate << 1 }
    assert_raises(RuntimeError) { masked.join }
    assert_equal(:mine, got.pop(true))
    threads.each(&:join)
  end

  def test_who_leaves_gets_nothing_and_what_came_is_thrown_away
    gate = Queue.new
    left, = fill(gate, 1)
    wait_until { gate.num_waiting == 1 }
    left.kill.join
    gate << :late
    assert_equal(:late, discarded.pop)
  end

  def test_who_leaves_the_line_is_not_called
    gate = Queue.new
    threads = fill(gate)
    called = Queue.new
    late = Thread.new { apart { called << 1 } }
    wait_until { DetachedCall.threads.count == MOST + 1 && late.stop? }
    late.kill.join
    MOST.times { gate << 1 }
    threads.each(&:join)
    wait_until { DetachedCall.threads.count.zero? }
    assert_empty(called)
  end

  def test_an_interrupt_anywhere_keeps_no_thread
    each_interrupt do
      made = Queue.new
      @discarded = Queue.new
      taken = nil
      call = DetachedCall.new(discard: ->(value) { discarded << value }) { made << 1 }
      [-> { call.start.take { |value| taken = value } }, lambda do |place|
        call.leave
        wait_until { DetachedCall.threads.count.zero? }
        assert_equal(made.size, (taken ? 1 : 0) + @discarded.size, place)
      end]
    end
  end

  def test_its_end_is_told_to_who_asked_before_it
    gate = Queue.new
    ended = Queue.new
    call = DetachedCall.new { gate.pop }.start
    assert(call.on_end { ended << :ended })
    gate << 1
    call.wait
    assert_equal(:ended, ended.pop(true))
    refute(call.on_end { flunk })
  end

  def test_an_interrupt_does_not_reach_a_block_that_does_not_wait
    value = apart do
      here = Thread.current
      raised = false
      Thread.new do
        here.raise(KeyError)
        raised = true
      end
      nil until raised
      7
    end
    assert_equal(7, value)
  end

  # Its mask would keep a process from its end.
  def test_the_block_can_be_killed
    thread = nil
    caller = Thread.new { apart { [thread = Thread.current, sleep] } }
    caller.report_on_exception = false
    wait_until { thread&.stop? }
    thread.kill.join
    assert_raises(Plait::WorkerDied) { caller.value }
  end

  def test_it_begins_anew_in_a_fork
    skip("this Ruby can't fork") unless Process.respond_to?(:fork)

    gate = Queue.new
    threads = fill(gate)
    pid = fork { exit!(apart { 7 } == 7) }
    assert_predicate(Process.wait2(pid).last, :success?)
    MOST.times { gate << 1 }
    threads.each(&:join)
  end
end
