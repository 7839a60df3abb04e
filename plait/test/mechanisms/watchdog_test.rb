# frozen_string_literal: true

require "test_helper"
require "support/scheduler_cases"
require "support/fresh_ruby"
require "support/stuck"

# What Scheduler.new(blocking: …) does about a call that keeps the loop from turning.
class WatchdogTest < Minitest::Test
  include SchedulerCases

  THRESHOLD = 0.2
  # Sure to be noticed.
  BLOCKED = 0.35
  # Where nothing may be noticed.
  WIDE = 0.6

  # --- What is said

  def test_a_report_names_the_users_line
    line = nil
    report = only_report { (line = __LINE__).then { compute(BLOCKED, dog) } }
    assert_includes(report.location, "#{__FILE__}:#{compute_line}:")
    assert(report.backtrace.any? { |entry| entry.start_with?("#{__FILE__}:#{line}:") }, report.backtrace.join("\n"))
    assert_operator(report.seconds, :>=, THRESHOLD)
  end

  def test_a_path_that_only_begins_like_ours_is_the_users
    ours = "#{Support::ROOT}/plait/lib/plait"
    trace = ["#{ours}/mechanisms/scheduler.rb:1:in `x'", "#{ours}.rb:2:in `y'", "<internal:kernel>:3:in `loop'",
             "#{RbConfig::CONFIG["rubylibdir"]}/set.rb:4:in `each'", "#{ours}-app/main.rb:5:in `z'"]
    assert_equal(trace.last, report_with(trace).location)
    assert_nil(report_with(trace.first(4)).location)
    assert_match(/at an unknown place/, report_with([]).to_s)
  end

  def test_a_report_says_what_to_do
    text = report_with(["/app/main.rb:5:in `z'"] * 30).to_s
    assert_equal("the event loop was blocked for 0.500 s at /app/main.rb:5:in `z'; wrap the call in Plait.offload { }, " \
                 "or use on: :threads", text.lines(chomp: true).first)
    assert_equal(13, text.lines.size)
  end

  # --- What is seen

  # Not by the watching thread: the call is over before that gets to run.
  def test_a_call_that_keeps_the_gvl
    seen = reports_of { keep_the_gvl(BLOCKED) }
    assert_equal(1, seen.size, seen.join)
  end

  def test_a_block_before_the_loop_turns
    reports = nil
    with_scheduler(blocking: :record, threshold: THRESHOLD) do |scheduler|
      Fiber.schedule { compute(BLOCKED) }
      reports = scheduler.watchdog.reports.dup
    end
    assert_equal(1, reports.size)
  end

  def test_a_block_after_each_kind_of_wait
    reader, writer = IO.pipe
    { sleep: -> { sleep(0.001) }, queue: -> { Thread.new { 1 }.value }, read: -> { writer << "x" and reader.readpartial(1) },
      select: -> { IO.select(nil, [writer]) }, process: -> { Process.wait(spawn("true")) }, offload: -> { Plait.offload { 1 } },
      a_wait_that_is_over_at_once: -> { sleep(0) } }.each do |name, wait|
      seen = reports_of { |dog| wait.call.then { compute(BLOCKED, dog) }.then { wait.call } }
      assert_equal([compute_line], seen.map { |report| report.location[/:(\d+):/, 1].to_i }, name.to_s)
    end
  ensure
    [reader, writer].each(&:close)
  end

  def test_each_block_is_told_of_once
    reports = reports_of { 3.times { compute(BLOCKED).then { sleep(0.001) } } }
    assert_equal(3, reports.size)
    reports = reports_of { compute(THRESHOLD * 4) }
    assert_equal(1, reports.size)
  end

  def test_a_job_of_a_run
    reports = reports_of { Plait.map([1, 2], on: :fibers) { compute(BLOCKED) } }
    assert_equal(2, reports.size, reports.join)
  end

  def test_the_last_reports_are_kept
    dog = Plait::Scheduler::Watchdog
    count = dog::KEPT + 3
    kept = reports_of(threshold: 0.001) { count.times { keep_the_gvl(0.002).then { sleep(0) } } }
    assert_equal(dog::KEPT, kept.size)
  end

  # --- What is no block

  def test_waiting_is_none
    seen = reports_of(threshold: WIDE) do
      sleep(WIDE * 1.3)
      later(WIDE * 1.3) { 1 }.value
      IO.pipe.then { |reader, writer| later(WIDE * 1.3) { writer << "x" }.then { reader.readpartial(1) } }
      Plait.offload { sleep(WIDE * 1.3) }
    end
    assert_empty(seen.map(&:to_s))
  end

  def test_neither_is_a_loop_that_does_not_turn
    reports = nil
    with_scheduler(blocking: :record, threshold: WIDE) do |scheduler|
      Fiber.schedule { sleep(0.001) }
      compute(WIDE * 1.3)
      scheduler.run
      compute(WIDE * 1.3)
      reports = scheduler.watchdog.reports
    end
    assert_empty(reports.map(&:to_s))
  end

  def test_neither_are_many_short_turns
    seen = reports_of(threshold: WIDE) do
      limit = now + (WIDE * 2)
      3.times { Fiber.schedule { compute(0.002).then { sleep(0) } while now < limit } }
      Plait.map(1..400, on: :fibers) { compute(0.002) }
    end
    assert_empty(seen.map(&:to_s))
  end

  def test_neither_is_what_stays_below_the_threshold
    assert_empty(reports_of(threshold: 5) { compute(0.3) }.map(&:to_s))
    assert_equal(1, reports_of(threshold: 0.1) { compute(0.3) }.size)
  end

  # --- What is done about it

  def test_warn
    [true, false].each do |verbose|
      lines = warned(verbose) { compute(BLOCKED, dog).then { sleep(0.001) } }
      assert_equal(1, lines.grep(/\Aplait: the event loop was blocked for/).size, lines.join)
      assert_includes(lines.first, "#{__FILE__}:#{compute_line}:")
    end
  end

  def test_warnings_that_are_turned_off
    assert_empty(warned(nil) { compute(BLOCKED).then { sleep(0.001) } })
  end

  def test_raise
    events = []
    with_scheduler(blocking: :raise, threshold: THRESHOLD) do
      Fiber.schedule do
        compute(60)
      rescue Plait::BlockingError => e
        events << e
      ensure
        sleep(0.001)
        events << :went_on
      end
      Fiber.schedule { sleep(0.001).then { events << :the_other } }
    end
    assert_equal(%i[the_other went_on], events.grep(Symbol).sort)
    assert_match(/blocked for .* at #{Regexp.escape("#{__FILE__}:#{compute_line}")}/, events.first.message)
    assert_includes(events.first.backtrace.join("\n"), "#{__FILE__}:#{compute_line}:")
  end

  def test_raise_ends_a_call_that_waits_outside_of_the_loop
    started = now
    assert_raises(Plait::BlockingError) do
      in_fiber(blocking: :raise, threshold: THRESHOLD) { Fiber.new(blocking: true) { sleep(60) }.resume }
    end
    assert_operator(now - started, :<, 30)
  end

  def test_raise_where_the_gvl_was_kept
    events = []
    in_fiber(blocking: :raise, threshold: THRESHOLD) do
      keep_the_gvl(BLOCKED)
      sleep(0.001)
      events << :waited
    rescue Plait::BlockingError
      events << :raised
    end
    assert_equal([:raised], events)
  end

  def test_a_callable
    seen = []
    in_fiber(blocking: ->(report) { seen << report }, threshold: THRESHOLD) { compute(BLOCKED, dog).then { sleep(0.001) } }
    assert_equal([Plait::Scheduler::Watchdog::Report], seen.map(&:class))
    assert_includes(seen.first.location, "#{__FILE__}:#{compute_line}:")
  end

  def test_a_callable_that_fails_does_not_end_the_watch
    reports = nil
    _, said = capture_io do
      in_fiber(blocking: ->(_) { raise KeyError, "no" }, threshold: THRESHOLD) do |scheduler|
        2.times { compute(BLOCKED).then { sleep(0.001) } }
        reports = scheduler.watchdog.reports
      end
    end
    assert_equal([2, 2], [reports.size, said.scan("blocking: was given to call raised KeyError: no").size])
  end

  # --- Its thread

  def test_its_thread_ends_with_the_loop
    assert_no_leaks(fibers: true) do
      with_scheduler(blocking: :record) { Fiber.schedule { sleep(0.001) } }
      assert_raises(KeyError) { with_scheduler(blocking: :raise) { Fiber.schedule { sleep(0.001).then { raise KeyError } } } }
    end
  end

  # Ruby 3.1 does not close its scheduler.
  def test_its_thread_ends_with_a_thread_that_fails
    before = Thread.list
    assert_raises(KeyError) { with_scheduler(blocking: :record) { raise KeyError } }
    wait_until(what: "the end of the watchdog's thread") { (Thread.list - before).empty? }
  end

  # However long until it would next look.
  def test_it_ends_at_once
    started = now
    with_scheduler(blocking: :record, threshold: 1_000) { Fiber.schedule { compute(0.01) } }
    assert_operator(now - started, :<, 60)
  end

  def test_without_it_there_is_no_thread
    before = Thread.list.size
    with_scheduler { |scheduler| assert_nil(scheduler.watchdog).then { assert_equal(before + 1, Thread.list.size) } }
  end

  def test_a_fork
    answer = in_fiber(blocking: :record, threshold: THRESHOLD) do
      IO.popen("-") do |from_child|
        next from_child.read if from_child

        Fiber.set_scheduler(nil)
        print(reports_of { compute(BLOCKED) }.size, Thread.list.size)
        $stdout.flush
        exit!(0)
      end
    end
    assert_equal("11", answer)
  end

  def test_wrong_arguments
    [:no, true, "warn", 1, []].each do |wrong|
      error = assert_raises(Plait::UsageError) { Plait::Scheduler.new(blocking: wrong) }
      assert_match(/\Ablocking: must be .* not #{Regexp.escape(wrong.inspect)}\z/, error.message)
    end
    [0, -1, "1", nil, Float::NAN, Complex(1, 1), Float::INFINITY].each do |wrong|
      error = assert_raises(Plait::UsageError, wrong.inspect) { Plait::Scheduler.new(blocking: :record, threshold: wrong) }
      assert_match(/\Athreshold: /, error.message)
    end
  end

  def test_wrong_arguments_leave_nothing
    assert_no_leaks { 20.times { assert_raises(Plait::UsageError) { with_scheduler(blocking: :no) } } }
  end

  private

  # Keeps the loop, but not the GVL: other threads get their turns.
  # @param dog [Watchdog, nil] goes on until that one has a report: on a busy machine its thread may come late
  def compute(seconds, dog = nil)
    limit = now + seconds
    nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < limit || (dog && dog.reports.empty?)
  end

  # The current fiber's.
  def dog = Plait::Scheduler.current.watchdog

  def compute_line = method(:compute).source_location.last + 2

  def keep_the_gvl(seconds) = Support::Stuck.call(seconds)

  def report_with(backtrace) = Plait::Scheduler::Watchdog::Report.new(seconds: 0.5, backtrace: backtrace)

  def reports_of(threshold: THRESHOLD)
    dog = nil
    in_fiber(blocking: :record, threshold: threshold) do |scheduler|
      dog = scheduler.watchdog
      yield dog
    end
    dog.reports
  end

  def only_report(&block)
    reports = reports_of(&block)
    assert_equal(1, reports.size, reports.join)
    reports.first
  end

  # @return [Array<String>] what was said about blocks, each with its backtrace
  def warned(verbose, &block)
    was = $VERBOSE
    _, said = capture_io do
      $VERBOSE = verbose
      in_fiber(blocking: :warn, threshold: THRESHOLD, &block)
    end
    said.split(/^(?=plait: )/)
  ensure
    $VERBOSE = was
  end

  # A machine that stands still for a moment looks like a blocking call, which no wait can rule out.
  module Again
    TRIES = 4

    WatchdogTest.instance_methods.grep(/\Atest_/).each do |test|
      define_method(test) do
        tries ||= 0
        super()
      rescue Minitest::Assertion, StandardError
        (tries += 1) < TRIES ? retry : raise
      end
    end
  end
  prepend Again
end
