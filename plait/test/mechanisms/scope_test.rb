# frozen_string_literal: true

require "test_helper"
require "support/patience"
require "plait"
require "timeout"
require "tmpdir"

# Plait.run beyond what all mechanisms have in common: test/contracts/scope_contract.rb has that.
class ScopeTest < Minitest::Test
  LIMIT = 60

  # --- Waits that could never end

  def test_a_task_that_waits_for_itself
    %i[threads fibers].each do |on|
      ring = lambda do |scope|
        tasks = Thread::Queue.new
        tasks << scope.async { tasks.pop.value }
        tasks.push(nil).close
      end
      assert_match(/wait for its own end/, assert_raises(Plait::UsageError, on) { within { Plait.run(on: on, &ring) } }.message)
    end
  end

  def test_tasks_that_wait_for_one_another
    %i[threads fibers].each do |on|
      ring = lambda do |scope|
        known = Array.new(3) { Thread::Queue.new }
        tasks = Array.new(3) { |n| scope.async { known[n].pop.value } }
        tasks.each_with_index { |task, n| known[n - 1] << task }
        tasks.each(&:wait)
      end
      assert_match(/one that waits for it/, assert_raises(Plait::UsageError, on) { within { Plait.run(on: on, &ring) } }.message)
    end
  end

  # --- Interruptions at the edge of a task

  def test_a_task_that_is_cancelled_where_it_begins_is_over
    owner = Thread.current
    trace = nil
    Plait.run(on: :threads) do |scope|
      trace = TracePoint.new(:return, :c_return) do |point|
        next if point.method_id != :fork_generation || Thread.current.equal?(owner)

        trace.disable
        scope.cancel
      end
      trace.enable
      assert_raises(Plait::CancelledError) { within { scope.async { flunk }.value } }
    end
  ensure
    trace.disable
  end

  def test_what_runs_as_a_fork_is_asked_for_is_no_fork
    refute(Plait.const_get(:Native).forked_since?(nil), "an exception came before the answer")
  end

  # There a task runs in the stead of the one that starts it.
  def test_a_task_in_sequence_gets_its_turn_whatever_the_limit
    inner = within { Plait.run(on: :sequence, limit: 1) { |scope| scope.async { scope.async { 3 }.value }.value } }
    assert_equal(3, inner)
  end

  def test_tasks_in_sequence_that_other_threads_start_keep_the_limit
    running = most = 0
    Plait.run(on: :sequence, limit: 1) do |scope|
      begin_task = -> { scope.async { most = [most, running += 1].max and sleep(0.01) and running -= 1 } }
      Array.new(4) { Thread.new(&begin_task) }.each(&:join)
    end
    assert_equal([0, 1], [running, most])
  end

  def test_tasks_that_wait_for_one_that_gets_no_turn
    %i[threads fibers].each do |on|
      waiting = ->(scope) { scope.async { scope.async { 1 }.value } }
      error = assert_raises(Plait::UsageError, on) { within { Plait.run(on: on, limit: 1, &waiting) } }
      assert_match(/limit: leaves these no room/, error.message)
      assert_equal(1, within { Plait.run(on: on, limit: 2) { |scope| waiting.call(scope).value } })
    end
  end

  def test_waits_that_only_look_like_it
    %i[threads fibers].each do |on|
      last = within do
        Plait.run(on: on, limit: 200) do |scope|
          chain = (1..150).reduce(scope.async { sleep(0.05) && 0 }) { |before, _| scope.async { before.value + 1 } }
          beside = Array.new(3) { scope.async { chain.value } }
          [chain, *beside].map(&:value)
        end
      end
      assert_equal([150] * 4, last, on)
    end
  end

  # --- Threads that end without a word

  # As when the main thread ends, which kills all others: some have not begun by then. One that has may be heard of first.
  def test_threads_that_are_killed_before_they_begin
    within do
      assert_raises(IOError, Plait::WorkerDied) do
        Plait.run(on: :threads) do |scope|
          others = Thread.list
          20.times { scope.async { sleep } }
          (Thread.list - others).each(&:kill)
          raise IOError, "over"
        end
      end
    end
  end

  # --- The end

  def test_a_task_that_another_thread_starts_when_all_are_over
    ends = Thread::Queue.new
    within do
      Plait.run(on: :threads) do |scope|
        scope.define_singleton_method(:wait_until) do |&condition|
          super(&condition).tap { Thread.new { async { sleep(0.05).then { ends << 1 } } if ends.empty? }.join }
        end
        scope.async { ends.empty? }
      end
    end
    refute_empty(ends, "the scope has ended before its task")
  end

  def test_a_second_interruption_while_the_tasks_end
    %i[threads fibers].each do |on|
      steps, gate = Array.new(2) { Thread::Queue.new }
      Support::Patience.patiently do
        caller = Thread.new { interrupted_run(on, steps, gate) }
        assert_equal(:ending, steps.pop)
        caller.raise(IOError)
        refute(caller.join(0.2), "the run has not waited for its task's end on #{on}")
        gate << 1
        assert_equal([:ended, :over], [steps.pop, within { caller.value }])
      ensure
        gate << 1
      end
    end
  end

  # --- Other threads than that of the loop

  def test_a_task_on_a_fiber_that_another_thread_waits_for
    values = within do
      Plait.run(on: :fibers) do |scope|
        gate = Thread::Queue.new
        task = scope.async { gate.pop }
        waiting = Array.new(3) { Thread.new { task.value } }
        wait_until { waiting.all?(&:stop?) }
        (gate << 5).then { waiting.map(&:value) << Plait.offload { task.value } }
      end
    end
    assert_equal([5] * 4, values)
  end

  def test_that_one_cancels
    error = within do
      Plait.run(on: :fibers) do |scope|
        task = scope.async { sleep(LIMIT) }
        queued = scope.async { 1 }
        Thread.new { [queued, task].each(&:cancel) }.join
        task.wait.error
      end
    end
    assert_instance_of(Plait::CancelledError, error)
  end

  def test_that_one_can_not_start
    error = assert_raises(Plait::UsageError) { Plait.run(on: :fibers) { |scope| Plait.offload { scope.async { 1 } } } }
    assert_match(/in the thread of its loop/, error.message)
  end

  def test_a_task_that_is_started_between_the_last_ones_end_and_the_scopes
    over = false
    within do
      Plait.run(on: :fibers) do
        Plait.run(on: :fibers) do |scope|
          gate = Thread::Queue.new
          Fiber.schedule { gate.pop.then { scope.async { sleep(0.05).then { over = true } } } }
          scope.async { gate << 1 }
        end
        assert(over, "the scope has ended before its task")
      end
    end
  end

  # --- A block in a fiber, its tasks in threads

  def test_a_failure_ends_the_block_and_nothing_else_of_its_loop
    %i[threads processes].each do |on|
      assert_no_leaks(fibers: true) do
        beside = within do
          Plait.run(on: :fibers) do |scope|
            gate = Thread::Queue.new
            task = scope.async { gate.pop }
            assert_raises(KeyError, on) { Plait.run(on: on) { |inner| inner.async { raise KeyError }.then { sleep } } }
            (gate << 7).then { task.value }
          end
        end
        assert_equal(7, beside)
      end
    end
  end

  def test_a_block_that_is_suspended_when_its_task_fails
    failing = Thread::Queue.new
    task = nil
    suspended = Fiber.new do
      Plait.run(on: :threads) do |scope|
        task = scope.async { failing.pop.then { raise KeyError } }
        2.times { Fiber.yield }
      end
    end
    suspended.resume
    failing << 1
    wait_until { task.done? }
    suspended.resume
    assert_raises(KeyError) { suspended.resume }
  end

  # --- Tasks of tasks

  def test_they_end_before_the_scope_does
    Dir.mktmpdir do |folder|
      %i[sequence threads fibers processes].each do |on|
        assert_no_leaks do
          value = within do
            Plait.run(on: on) do |scope|
              scope.async { scope.async { sleep(0.05).then { File.write(File.join(folder, on.to_s), "") } }.then { 1 } }.value
            end
          end
          assert_equal([1, true], [value, File.exist?(File.join(folder, on.to_s))], on)
        end
      end
    end
  end

  def test_their_errors_are_raised
    %i[sequence threads fibers processes].each do |on|
      assert_raises(KeyError, on) do
        within { Plait.run(on: on) { |scope| scope.async { scope.async { raise KeyError } && sleep(eager?(on) ? 0 : LIMIT) } } }
      end
    end
  end

  def test_a_process_can_not_wait_for_what_runs_beside_it
    [:value, :cancel].each do |verb|
      error = assert_raises(Plait::UsageError) do
        within do
          Plait.run(on: :processes) do |scope|
            other = scope.async { sleep(LIMIT) }
            scope.async { other.public_send(verb) }
          end
        end
      end
      assert_match(/beside the process/, error.message)
    end
  end

  def test_it_knows_what_was_over_before
    value = Plait.run(on: :processes) do |scope|
      over = scope.async { 3 }.wait
      scope.async { over.value + 1 }.value
    end
    assert_equal(4, value)
  end

  private

  def within(&block) = Timeout.timeout(LIMIT, &block)

  # Its block fails, and its task ends when the gate is opened.
  def interrupted_run(mechanism, steps, gate)
    Plait.run(on: mechanism) do |scope|
      begun = Thread::Queue.new
      scope.async { ensuring(-> { (steps << :ending) && gate.pop && (steps << :ended) }) { (begun << 1) && sleep } }
      begun.pop.then { raise KeyError }
    end
  rescue IOError
    :over
  end

  def ensuring(last)
    yield
  ensure
    last.call
  end

  def eager?(mechanism) = mechanism == :sequence
end
