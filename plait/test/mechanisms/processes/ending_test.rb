# frozen_string_literal: true

require "test_helper"
require "plait/mechanisms/processes"
require "support/patience"
require "support/stuck"
require "plait"
require "tempfile"

# Timeouts, cancellation, and the end of the parent.
class ProcessesEndingTest < Minitest::Test
  # Two hundred pools take minutes on a busy machine.
  def hard_timeout = 480

  def setup
    @log = Tempfile.new
    @path = @log.path
  end

  def teardown = @log.close!

  def note(text) = File.open(@path, "a") { |file| file.syswrite("#{text}\n") }

  def notes = File.readlines(@path, chomp: true)

  def alive?(pid)
    File.read("/proc/#{pid}/stat")[/\) (\S)/, 1] != "Z"
  rescue SystemCallError
    false
  end

  def test_a_timeout_runs_ensure_and_the_worker_lives_on
    outcomes = Support::Patience.patiently do
      Plait.map(1..4, on: :processes, limit: 1, timeout: 2, on_error: :collect) do |x|
        sleep if x == 2
        Process.pid
      ensure
        note(x)
      end
    end

    assert_instance_of(Plait::TimeoutError, outcomes[1].error)
    assert_equal(1, outcomes.filter_map(&:value).uniq.size)
    assert_equal(%w[1 2 3 4], notes)
  end

  BODIES = {
    "masked" => ->(_) { Thread.handle_interrupt(Exception => :never) { sleep } },
    "in_c" => ->(_) { Support::Stuck.call(60) }
  }.freeze

  BODIES.each do |name, body|
    define_method("test_a_body_that_cannot_be_interrupted_is_ended_#{name}") do
      outcomes = assert_no_leaks do
        Plait.map(1..6, on: :processes, limit: 2, timeout: 2, on_error: :collect) { |x| x == 3 ? body.call(x) : x }
      end

      assert_equal([3], outcomes.reject(&:ok?).map(&:item))
      assert_instance_of(Plait::TimeoutError, outcomes[2].error)
      assert_match(/no end after 2 s.*killed/, outcomes[2].error.message)
      assert_operator(outcomes[2].duration, :<, 40)
    end
  end

  # On a busy machine the first deadlines may pass before the body starts.
  def test_a_deadline_ends_what_cannot_be_interrupted
    messages = [0.3, 3, 30].lazy.map do |deadline|
      run = -> { Plait.map([1], on: :processes, deadline: deadline, retries: 5) { Support::Stuck.call(60) } }
      assert_no_leaks { assert_raises(Plait::DeadlineExceeded, &run) }.message
    end

    assert(messages.any?(/killed/))
  end

  def test_each_attempt_has_its_timeout
    outcome, = Plait.map([1], on: :processes, timeout: 2, retries: { count: 1, base: 0.01 }, on_error: :collect) do
      note("begun")
      Support::Stuck.call(60)
    end

    assert_equal(2, outcome.attempts)
    assert_equal(2, notes.size)
    assert_instance_of(Plait::TimeoutError, outcome.error)
  end

  def test_a_failure_cancels_the_others_and_their_ensure_blocks_run
    assert_no_leaks do
      Support::Patience.patiently do
        assert_raises(KeyError) do
          Plait.map([:slow, :bad], on: :processes, limit: 2) do |x|
            wait_until { !notes.empty? } && raise(KeyError, "now") if x == :bad

            note("begun")
            sleep
          ensure
            note("ensured") if x == :slow
          end
        end
      end
    end

    assert_equal(%w[begun ensured], notes)
  end

  def test_a_body_that_rescues_everything_goes_down_too
    reader, writer = IO.pipe
    assert_no_leaks do
      assert_raises(KeyError) do
        Plait.map([:stubborn, :bad], on: :processes, limit: 2) do |x|
          raise KeyError if x == :bad && reader.wait_readable(60)

          writer.syswrite("!")
          begin
            sleep
          rescue Exception
            retry
          end
        end
      end
    end
  ensure
    [reader, writer].each(&:close)
  end

  def test_leaving_early
    assert_no_leaks do
      Plait.each_result(1..100, on: :processes, limit: 3) { |x| x < 5 ? x : sleep }.each { |o| break if o.index == 3 }
    end
  end

  def test_an_exception_of_the_consumer
    assert_no_leaks do
      assert_raises(RuntimeError) { Plait.each_result(1..100, on: :processes, limit: 3) { |x| x }.each { raise "mine" } }
    end
  end

  def test_a_thread_that_is_killed_takes_its_pool_along
    assert_no_leaks do
      thread = Thread.new { Plait.map(1..4, on: :processes, limit: 2) { note("begun") && sleep } }
      wait_until { notes.size == 2 }
      thread.kill.join
    end
  end

  def test_the_first_success_ends_the_rest
    assert_no_leaks do
      assert_equal(0, Plait.first([60, 0, 60], on: :processes, limit: 3) { |s| sleep(s) && s })
    end
  end

  PARENT = <<~RUBY
    require "plait"
    path = ARGV.first
    note = ->(text) { File.open(path, "a") { |file| file.syswrite("\#{text}\n") } }
    begin
      Plait.map(1..2, on: ARGV[1].split("+").map(&:to_sym), limit: 2) do |x|
        note.("begun \#{Process.pid}")
        x == 1 ? sleep : loop { x += 1 }
      ensure
        note.("ensured")
      end
    rescue Interrupt
      note.("interrupted")
    end
  RUBY

  # On a busy machine the workers may need longer for their ensure blocks than the grace that they have.
  PATIENT = <<~RUBY
    require "support/patience"
    Support::Patience.be_patient
  RUBY

  HERE = ["-I#{Support::ROOT}/test"].freeze

  %w[processes processes+threads processes+fibers].each do |on|
    define_method("test_a_killed_parent_leaves_nobody_behind_#{on}") do
      parent = spawn(RbConfig.ruby, *Support::FLAGS, *HERE, "-e", PATIENT + PARENT, @path, on)
      pids = wait_until { notes.grep(/begun/).size == 2 && notes.grep(/begun/).map { |line| line[/\d+/].to_i } }
      assert(pids.all? { |pid| alive?(pid) })
      Process.kill(:KILL, parent)
      Process.wait(parent)
      wait_until(what: "the end of the workers") { pids.none? { |pid| alive?(pid) } }

      assert_includes(notes, "ensured")
    end
  end

  def test_ctrl_c_reaches_the_whole_group
    parent = spawn(RbConfig.ruby, *Support::FLAGS, *HERE, "-e", PATIENT + PARENT, @path, "processes", pgroup: true)
    pids = wait_until { notes.grep(/begun/).size == 2 && notes.grep(/begun/).map { |line| line[/\d+/].to_i } }
    Process.kill(:INT, -parent)
    Process.wait(parent)

    assert_equal(2, notes.count("ensured"))
    assert_equal("interrupted", notes.last)
    assert(pids.none? { |pid| alive?(pid) })
  end

  # SIGTERM and the closed lifeline: each has a thread of its own in the worker, and either may be preempted.
  def test_an_item_is_interrupted_once
    stops = []
    guard = Plait::Mechanisms.const_get(:Processes)::Guard.new(nil, stop: -> { stops << 1 })
    preempted = TracePoint.new(:line) { |point| sleep(0.01) if point.method_id == :stop }
    preempted.enable { Array.new(2) { Thread.new { guard.send(:stop) } }.each(&:join) }
    assert_equal([1], stops)
  end

  def test_a_program_started_by_a_body_still_hears_ctrl_c
    handler, = Plait.map([1], on: :processes) { IO.popen([RbConfig.ruby, "-e", "p trap('INT', 'DEFAULT')"], &:read) }

    assert_equal("\"DEFAULT\"", handler.chomp)
  end

  def test_two_hundred_pools
    Plait.map(1..2, on: :processes, limit: 2) { |x| x } # whatever is loaded lazily
    assert_no_leaks do
      200.times do |i|
        case i % 4
        when 0 then Plait.map(1..4, on: :processes, limit: 2) { |x| x }
        when 1 then Plait.each_result(1..9, on: :processes, limit: 2) { |x| x }.first(2)
        when 2 then assert_raises(RuntimeError) { Plait.map(1..4, on: :processes, limit: 2) { raise "no" } }
        else Plait.map(1..2, on: :processes, limit: 2, on_error: :skip) { exit!(1) }
        end
      end
    end
  end
end
