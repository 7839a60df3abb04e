# frozen_string_literal: true

require "test_helper"
require "plait/process_figures"

class ProcessFiguresTest < Minitest::Test
  Figures = Plait.const_get(:ProcessFigures)

  def setup
    skip("no /proc here") unless File.readable?("/proc/self/status")
  end

  # Without them, the time of a process would go back, as that of Redis 8.
  def test_the_time_of_threads_that_have_ended_counts
    alive = -> { Dir.children("/proc/self/task").size }
    before = Figures.cpu(Process.pid)
    count = alive.call
    Thread.new { nil until Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) > 0.1 }.join
    wait_until { alive.call <= count } # Ruby keeps the system's thread for another one for some seconds
    assert_operator(Figures.cpu(Process.pid) - before, :>=, 0.1)
  end

  def test_memory_of_this_process
    resident = Figures.resident
    assert_operator(Figures.peak, :>, resident - 1_000_000) # the kernel counts some pages later
    assert_operator(Figures.share, :>, 1_000_000)
  end

  def test_descendants_come_after_their_parents
    reader, writer = IO.pipe
    child = fork do
      writer.puts(fork { sleep })
      sleep
    end
    grandchild = Integer(reader.gets)
    assert_equal([child, grandchild], Figures.descendants(Process.pid).last(2))
  ensure
    [grandchild, child].compact.each { |pid| Process.kill(:KILL, pid) }
    Process.wait(child)
    [reader, writer].each(&:close)
  end

  def test_nothing_is_known_of_a_process_that_has_ended
    pid = fork { exit!(0) }
    Process.wait(pid)
    assert_nil(Figures.resident(pid))
    assert_nil(Figures.share(pid))
    assert_empty(Figures.descendants(pid))
    assert_raises(SystemCallError) { Figures.cpu(pid) }
    Figures.forget_peak(pid)
  end
end
