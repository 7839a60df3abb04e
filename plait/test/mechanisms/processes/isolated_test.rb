# frozen_string_literal: true

require "test_helper"
require "plait/mechanisms/processes"
require "plait"
require "support/patience"
require "tempfile"

# The tasks of Plait.run, each in a child of its own.
class ProcessesIsolatedTest < Minitest::Test
  def run_tasks(**options, &block) = Plait.run(on: :processes, **options, &block)

  def call(*arguments, &block) = Plait::Mechanisms.const_get(:Processes)::Isolated.call(block, arguments)

  def test_a_value
    assert_no_leaks { assert_equal([3, true], call(1, 2) { |a, b| [a + b, Process.pid != Process.ppid] }) }
  end

  def test_a_hundred_megabytes
    assert_equal(100 << 20, call { "x" * (100 << 20) }.bytesize)
  end

  def test_an_error
    error = assert_no_leaks { assert_raises(KeyError) { call { {}.fetch(:a) } } }

    assert_match(/#{Regexp.escape(__FILE__)}/, error.backtrace.join)
  end

  def test_what_cannot_travel
    assert_match(/value.* is a Proc|result is a Proc/, assert_raises(Plait::UnmarshalableError) { call { -> {} } }.message)
  end

  def test_death
    error = assert_no_leaks { assert_raises(Plait::WorkerDied) { call { Process.kill(:KILL, Process.pid) && sleep } } }

    assert_equal(9, error.status.termsig)
  end

  def test_death_while_a_grandchild_holds_the_pipes
    reader, writer = IO.pipe
    error = assert_raises(Plait::WorkerDied) do
      call do
        writer.close
        fork { reader.read && exit!(0) }
        exit!(4)
      end
    end

    assert_equal(4, error.status.exitstatus)
  ensure
    [reader, writer].each(&:close)
  end

  def sleep_and_note(writer)
    writer.syswrite("begun ")
    sleep
  ensure
    writer.syswrite("ensured")
  end

  def test_an_exception_in_the_waiting_thread_ends_the_child
    reader, writer = IO.pipe
    assert_no_leaks do
      Support::Patience.patiently do
        thread = Thread.new { call { sleep_and_note(writer) } }
        thread.report_on_exception = false
        reader.wait_readable(60)
        thread.raise(IOError, "enough")

        assert_raises(IOError) { thread.value }
      end
    end
    writer.close

    assert_equal("begun ensured", reader.read)
  ensure
    [reader, writer].each(&:close)
  end

  def test_a_scope
    assert_no_leaks do
      pids = run_tasks { |scope| Array.new(3) { |i| scope.async(i) { |n| [n, Process.pid] } }.map(&:value) }

      assert_equal([0, 1, 2], pids.map(&:first))
      assert_equal(3, (pids.map(&:last) - [Process.pid]).uniq.size)
    end
  end

  def test_a_failing_task_ends_the_others
    assert_no_leaks do
      assert_raises(KeyError) do
        run_tasks do |scope|
          scope.async { sleep }
          scope.async { raise KeyError }
        end
      end
    end
  end

  def test_nested_scopes
    assert_no_leaks do
      value = run_tasks do |scope|
        scope.async { run_tasks { |inner| Array.new(2) { |i| inner.async { i + 1 } }.sum(&:value) } }.value
      end

      assert_equal(3, value)
    end
  end

  def test_limit_and_timeout
    assert_no_leaks do
      assert_raises(Plait::TimeoutError) { run_tasks(timeout: 0.2) { |scope| scope.async { sleep }.value } }
      assert_equal(45, run_tasks(limit: 2) { |scope| Array.new(10) { |i| scope.async { i } }.sum(&:value) })
    end
  end
end
