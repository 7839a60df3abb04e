# frozen_string_literal: true

require "test_helper"
require "support/fresh_ruby"
require "minitest/mock"
require "plait"
require "tempfile"

# Workers that die.
class ProcessesDeathTest < Minitest::Test
  def setup
    @log = Tempfile.new
    @path = @log.path
  end

  def teardown = @log.close!

  # A body's note that survives its process.
  def note(text) = File.open(@path, "a") { |file| file.syswrite("#{text}\n") }

  def notes = File.readlines(@path, chomp: true)

  def collect(items, **options, &block) = Plait.map(items, on: :processes, on_error: :collect, **options, &block)

  DEATHS = {
    "SIGKILL" => -> { Process.kill(:KILL, Process.pid) && sleep },
    # Ruby reports a segfault, then aborts; Ruby 3.3 at times has another one over the report.
    "SIGABRT|SIGSEGV" => -> { STDERR.reopen(File::NULL) && Process.kill(:SEGV, Process.pid) && sleep },
    "SIGTERM" => -> { Process.kill(:TERM, Process.pid) && sleep },
    "exit code 3" => -> { exit!(3) }
  }.freeze

  DEATHS.each do |how, die|
    define_method("test_only_the_item_that_was_running_is_reported_#{how.tr(" |", "_")}") do
      outcomes = assert_no_leaks { collect(1..500, limit: 2) { |x| x == 100 ? die.call : x } }
      failed = outcomes.reject(&:ok?)

      assert_equal([100], failed.map(&:item))
      assert_kind_of(Plait::WorkerDied, failed.first.error)
      assert_match(/#{how}/, failed.first.error.message)
      assert_equal((1..500).to_a - [100], outcomes.filter_map(&:value))
    end
  end

  def test_the_status_is_told
    killed, exited = collect([:kill, :exit], limit: 1) do |how|
      how == :kill ? Process.kill(:KILL, Process.pid) && sleep : exit!(7)
    end

    assert_equal(9, killed.error.status.termsig)
    assert_equal(7, exited.error.status.exitstatus)
  end

  def test_nothing_is_run_twice_and_nothing_is_lost
    outcomes = collect(1..2000, limit: 3) do |x|
      note(x)
      Process.kill(:KILL, Process.pid) && sleep if (x % 97).zero?
      x
    end
    doomed = (1..2000).select { |x| (x % 97).zero? }

    assert_equal((1..2000).to_a, notes.map(&:to_i).sort)
    assert_equal(doomed, outcomes.reject(&:ok?).map(&:item))
    assert_equal((1..2000).to_a - doomed, outcomes.filter_map(&:value))
  end

  def test_a_killer_from_outside
    results = Plait.each_result(1..300, on: :processes, limit: 3, on_error: :collect) do |x|
      note(x)
      sleep(0.001)
      Process.pid
    end
    outcomes = results.each_with_index.map { |outcome, i| outcome.tap { kill(outcome.value) if (i % 40).zero? } }

    assert_equal((0...300).to_a, outcomes.map(&:index).sort)
    assert_equal(notes.uniq.size, notes.size, "an item was run twice")
    assert_operator(outcomes.count(&:ok?), :>=, 300 - 8)
  end

  def kill(pid)
    Process.kill(:KILL, pid) if pid
  rescue Errno::ESRCH
    nil
  end

  def test_retries
    outcomes = collect(1..50, limit: 2, retries: { count: 2, base: 0.001 }) do |x|
      note(x)
      Process.kill(:KILL, Process.pid) && sleep if x == 20 && notes.count("20") < 3
      x
    end

    assert_equal((1..50).to_a, outcomes.map(&:value))
    assert_equal(3, outcomes[19].attempts)
    assert_equal(3, notes.count("20"))
    assert_equal(1, outcomes[18].attempts)
  end

  def test_retries_are_counted_across_deaths_and_errors
    outcome, = collect([1], limit: 1, retries: { count: 3, base: 0.001 }) do |x|
      note(x)
      raise "first" if notes.size == 1

      exit!(1)
    end

    assert_equal(4, outcome.attempts)
    assert_equal(4, notes.size)
    assert_kind_of(Plait::WorkerDied, outcome.error)
  end

  # Kills whoever loads it, but not us.
  class Bomb
    HOME = Process.pid

    def initialize(path) = @path = path

    def marshal_dump = @path

    def marshal_load(path)
      return if Process.pid == HOME

      File.open(path, "a") { |file| file.syswrite("loaded\n") }
      exit!(1)
    end
  end

  def test_an_item_that_kills_whoever_loads_it
    [[{}, 1], [{ timeout: 30 }, 1], [{ deadline: 60 }, 1], [{ retries: { count: 2, base: 0.001 } }, 3]].each do |options, times|
      [:processes, %i[processes threads]].each do |on|
        File.truncate(@path, 0)
        bomb, other = Plait.map([Bomb.new(@path), 2], on: on, limit: 1, on_error: :collect, **options) { 3 }

        assert_equal([Plait::WorkerDied, times, 3], [bomb.error.class, bomb.attempts, other.value], "#{on} #{options}")
        assert_equal(times, notes.size)
      end
    end
  end

  # Keeps whoever loads it, but not us.
  class Mire
    HOME = Process.pid

    def marshal_dump = nil

    def marshal_load(_) = Process.pid == HOME ? nil : sleep
  end

  def test_an_item_that_keeps_whoever_loads_it
    [[{ timeout: 0.1 }, Plait::TimeoutError], [{ deadline: 3 }, Plait::DeadlineExceeded]].each do |options, kind|
      mire, = assert_no_leaks { collect([Mire.new], limit: 1, **options) { 3 } }

      assert_instance_of(kind, mire.error)
      assert_match(/its worker process was killed/, mire.error.message)
    end
  end

  def test_workers_that_die_before_they_begin_what_they_got
    result = Support::FreshRuby.run(<<~RUBY)
      require "plait"
      require "plait/mechanisms/processes"
      Plait::Mechanisms.const_get(:Processes)::Execution.prepend(Module.new { def call(*) = exit!(6) })
      begin
        Plait.map(1..10, on: :processes, limit: 2, timeout: 60) { |x| x }
      rescue Plait::UnsupportedError => e
        print e.message
      end
    RUBY

    assert_match(/3 worker processes in a row ended before they began an item.* exit code 6/, result.out)
  end

  # The parent ends attempts that last too long, but a pause is none.
  def test_a_pause_before_the_next_attempt_is_not_overtime
    outcome, = collect([1], limit: 1, timeout: 1, retries: { count: 1, base: 4.0, jitter: 0 }) do
      note(Process.pid)
      raise "the first" if notes.size == 1

      :done
    end

    assert_equal(:done, outcome.value)
    assert_equal(1, notes.uniq.size, "its worker was killed in the pause")
  end

  def test_what_is_not_to_be_retried_is_not
    outcome, = collect([1], limit: 1, retries: { count: 3, base: 0.001, on: KeyError }) { exit!(1) }

    assert_equal(1, outcome.attempts)
  end

  def test_the_default_policy_raises
    error = assert_no_leaks do
      assert_raises(Plait::WorkerDied) { Plait.map(1..50, on: :processes, limit: 2) { |x| x == 9 ? exit!(2) : x } }
    end

    assert_equal(9, error.item)
    assert_match(/exit code 2.*item 8: 9/, error.message)
  end

  # The parent is kept busy, so that the large answer fills the pipe; then its worker is killed in the middle of it.
  def test_a_truncated_answer_is_no_answer
    gate, open = IO.pipe
    waiting, delivered = IO.pipe
    running, large = IO.pipe # or the small answer may come before the other item is handed over
    values = []
    Plait.each_result(%i[small large], on: :processes, limit: 2, on_error: :collect) do |x|
      next running.sysread(1) if x == :small

      large.syswrite("!")
      waiting.sysread(1)
      die_while_answering(open)
      "x" * 1_000_000
    end.each do |outcome|
      values << (outcome.ok? ? outcome.value : outcome.error.class)
      delivered << "!"
      sleep(0.01) until gate.wait_readable(0) # the worker is blocked, and is about to be killed
    end

    assert_equal(["!", Plait::WorkerDied], values)
  ensure
    [gate, open, waiting, delivered, running, large].each(&:close)
  end

  def die_while_answering(gate)
    main = Thread.current
    Thread.new do
      sleep(0.001) until main.backtrace.first(6).grep(/answers.rb/).any? && main.stop?
      gate.syswrite("!")
      Process.kill(:KILL, Process.pid)
    end
  end

  def test_garbage_in_the_pipe
    outcomes = collect(1..30, limit: 2) do |x|
      scribble if x == 10
      x
    end

    assert_equal([10], outcomes.reject(&:ok?).map(&:item))
    assert_match(/something else has written into its pipe/, outcomes[9].error.message)
  end

  # Writes to every pipe of this process, as a body might that mixes up descriptor numbers.
  def scribble
    ObjectSpace.each_object(IO) do |io|
      next if io.closed? || io.fileno < 3 || !io.stat.pipe?

      io.write_nonblock("what is this? " * 10, exception: false)
    rescue IOError, SystemCallError
      nil
    end
  end

  def test_workers_that_die_at_birth
    result = Support::FreshRuby.run(<<~RUBY)
      require "plait"
      module DieAtFork
        def _fork = super.tap { |pid| exit!(5) if pid.zero? }
      end
      Process.singleton_class.prepend(DieAtFork)
      begin
        Plait.map(1..10, on: :processes, limit: 2) { |x| x }
      rescue Plait::UnsupportedError => e
        print e.message
      end
    RUBY

    assert_match(/3 worker processes in a row .* exit code 5.*_fork/, result.out)
  end

  def test_a_hook_that_raises_in_the_child_does_not_run_the_program_twice
    assert_equal("refused end", printed_where_forks_fail)
  end

  def test_a_signal_at_the_end_of_a_child_does_not_run_the_program_twice
    assert_equal("refused end", printed_where_forks_fail(<<~RUBY))
      module Kernel
        alias end_at_once exit!
        def exit!(...)
          Process.kill(:TERM, Process.pid)
          end_at_once(...)
        end
      end
    RUBY
  end

  # @param more [String] of the program
  # @return [String] what the program and its children have printed
  def printed_where_forks_fail(more = "")
    Support::FreshRuby.run(<<~RUBY).out
      require "plait"
      at_exit { print "end" }
      module RaiseAtFork
        def _fork = super.tap { |pid| raise "hook" if pid.zero? }
      end
      Process.singleton_class.prepend(RaiseAtFork)
      #{more}
      begin
        Plait.map(1..10, on: :processes, limit: 2) { |x| x }
      rescue Plait::UnsupportedError
        print "refused "
      end
    RUBY
  end

  def test_fork_refused
    Process.stub(:fork, -> { raise Errno::EAGAIN, "fork(2)" }) do
      error = assert_no_leaks { assert_raises(Plait::UnsupportedError) { Plait.map(1..3, on: :processes) { 1 } } }

      assert_match(/can't start a worker process.*ulimit -u/, error.message)
    end
  end

  def test_fork_refused_for_some
    forks = 0
    original = Process.method(:fork)
    fork = ->(&block) { (forks += 1) > 2 ? raise(Errno::EAGAIN, "fork(2)") : original.call(&block) }
    values = Process.stub(:fork, fork) { Plait.map(1..30, on: :processes, limit: 5) { |x| sleep(0.002) && x } }

    assert_equal((1..30).to_a, values)
  end
end
