# frozen_string_literal: true

require_relative "builders"
require "tmpdir"

class LabFreshProcessTest < Minitest::Test
  FreshProcess = Plait::Lab.const_get(:FreshProcess)

  def setup
    skip("no fork here") unless FreshProcess.supported?
  end

  def test_the_value_comes_back_from_another_process
    pid, value = assert_no_leaks { in_child { |ready| ready.call and [Process.pid, { a: [1, "b"] }] } }
    refute_equal(Process.pid, pid)
    assert_equal({ a: [1, "b"] }, value)
  end

  def test_what_a_block_writes_to_a_file_is_there_once
    with_file do |path|
      File.open(path, "a") do |file|
        file.write("parent,")
        wait_until(what: "the rest of other threads") { (Thread.list - [Thread.current]).all?(&:stop?) } # else they come late
        in_child { |_| file.write("child,") }
        assert_raises(FreshProcess::Failed) { in_child { |_| file.write("failed,") && raise(KeyError) } }
        file.write("end")
      end
      assert_equal("parent,child,failed,end", File.read(path))
    end
  end

  def test_values_larger_than_a_pipe
    assert_equal(5_000_000, in_child { |_ready| "x" * 5_000_000 }.bytesize)
  end

  def test_a_block_that_raises
    failed = assert_raises(FreshProcess::Failed) { assert_no_leaks { in_child { |_| raise KeyError, "no such key" } } }
    assert_equal(:failed, failed.kind)
    assert_match(/\AKeyError: no such key, at .*fresh_process_test\.rb:\d+\z/, failed.message)
    unsupported = assert_raises(FreshProcess::Failed) { in_child { |_| raise Plait::UnshareableError, "can't share" } }
    assert_equal(["can't share", :unsupported], [unsupported.message, unsupported.kind])
  end

  def test_a_process_that_dies
    { -> { Process.kill(:KILL, Process.pid) } => /killed by SIGKILL \(out of memory\?/,
      -> { Process.kill(:TERM, Process.pid) } => /killed by SIGTERM before it had a result/,
      -> { exit!(3) } => /ended with exit status 3 before it had a result/ }.each do |die, sentence|
      failed = assert_raises(FreshProcess::Failed) { assert_no_leaks { in_child { |ready| ready.call && die.call } } }
      assert_match(sentence, failed.message)
      assert_equal(:died, failed.kind)
    end
  end

  def test_a_grandchild_that_holds_the_pipe_open_does_not_hide_the_death
    with_file do |path|
      failed = assert_raises(FreshProcess::Failed) do
        in_child { |_| File.write(path, Process.fork { sleep }) && Process.kill(:KILL, Process.pid) }
      end
      assert_equal(:died, failed.kind)
      wait_until(what: "the end of the grandchild") { gone?(File.read(path).to_i) }
    end
  end

  def test_of_a_block_that_forks_only_the_process_itself_answers
    value = in_child do |_|
      pid = Process.fork
      pid ? Process.wait(pid) && :child : :grandchild
    end
    assert_equal(:child, value)
  end

  def test_a_process_that_hangs_is_killed_with_all_it_started
    with_file do |path|
      in_growing_times(0.3, 3, 30) do |bound|
        failed = assert_raises(FreshProcess::Failed) do
          FreshProcess.new(bound: bound).call { |_| File.write(path, Process.fork { sleep }) && sleep }
        end
        assert_equal(:hung, failed.kind)
        assert_match(/no result after #{bound} s, so its process was killed/, failed.message)
        assert(File.size?(path), "it was killed before it had started another one")
      end
      wait_until(what: "the end of the grandchild") { gone?(File.read(path).to_i) }
    end
  end

  def test_an_interrupt_of_the_parent_ends_the_child
    with_file do |path|
      child = Thread.new { in_child { |_| File.write(path, Process.pid) && sleep } }
      child.report_on_exception = false
      wait_until { File.size?(path) }
      child.raise(Interrupt)
      assert_raises(Interrupt) { child.value }
      wait_until(what: "the end of the child") { gone?(File.read(path).to_i) }
    end
  end

  def test_a_child_whose_parent_is_gone_leaves
    with_file do |path|
      parent = Process.fork do
        in_child { |ready| ready.call && File.write(path, Process.pid) && sleep }
      end
      wait_until { File.size?(path) }
      Process.kill(:KILL, parent)
      Process.wait(parent)
      wait_until(what: "the end of the orphan") { gone?(File.read(path).to_i) }
    end
  end

  def test_exit_blocks_of_the_parent_do_not_run_in_the_child
    with_file do |path|
      pid = Process.fork do
        at_exit { File.write(path, "#{Process.pid} ", mode: "a") }
        in_child { |_| 1 }
      end
      Process.wait(pid)
      assert_equal("#{pid} ", File.read(path))
    end
  end

  def test_the_sampler_looks_between_ready_and_the_result
    with_file do |path|
      seen = []
      sampler = Object.new
      sampler.define_singleton_method(:start) { |pid| seen << [:start, pid] }
      sampler.define_singleton_method(:sample) { (seen << [:sample]).size > 3 && File.write(path, "enough") }
      sampler.define_singleton_method(:pause) { 0.01 }
      pid = FreshProcess.new(bound: 60, sampler: sampler).call do |ready|
        ready.call
        sleep(0.01) until File.size?(path)
        Process.pid
      end
      assert_equal([:start, pid], seen.first)
      assert_operator(seen.count([:sample]), :>, 2)
    end
  end

  def test_under_a_scheduler_the_child_has_none
    result = Thread.new do
      Fiber.set_scheduler(Plait::Scheduler.new)
      Fiber.schedule { @inside = in_child { |_| [Fiber.scheduler.nil?, Fiber.current_scheduler.nil?] } }
      Fiber.set_scheduler(nil)
      @inside
    end
    assert_equal([true, true], result.value)
  end

  def test_a_refused_fork_says_where_to_look
    error = Plait.const_get(:Forking).stub(:call, -> { raise Errno::EAGAIN }) do
      assert_raises(FreshProcess::ForkRefused) { assert_no_leaks { in_child { |_| 1 } } }
    end
    assert_match(/refuses a new process .*ulimit -u/, error.message)
  end

  private

  def in_child(&) = FreshProcess.new(bound: 60).call(&)

  def with_file
    Dir.mktmpdir("plait-test-") { |folder| yield File.join(folder, "said") }
  end

  def gone?(pid)
    Process.kill(0, pid)
    File.read("/proc/#{pid}/stat").include?(") Z ")
  rescue Errno::ESRCH, Errno::ENOENT
    true
  end
end
