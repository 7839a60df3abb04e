# frozen_string_literal: true

require "support/patience"
require "tempfile"

module Contracts
  # What every mechanism must do in the same way. The including test names it: `def on = :threads`. Bodies name nothing
  # outside of themselves, so that they run in a ractor and in another process too.
  module MechanismContract
    LIMIT = 3

    # Sees what several processes do: each event is one line, appended at once.
    class Journal
      def self.open
        file = Tempfile.new("plait-journal")
        yield new(file.path)
      ensure
        file&.close!
      end

      attr_reader :path

      def initialize(path)
        @path = path
      end

      def lines = File.readlines(@path, chomp: true)
    end

    def around_leaks(&block) = assert_no_leaks(&block)

    def map(items, **options, &body) = Plait.map(items, on: on, limit: LIMIT, **options, &body)

    def each_result(items, **options, &body)
      Plait.each_result(items, on: on, limit: LIMIT, **options, &body)
    end

    def test_results_come_in_input_order
      items = [0.06, 0.0, 0.03, 0.01, 0.0]
      around_leaks do
        assert_equal(items.map { |seconds| seconds * 2 }, map(items) { |seconds| sleep(seconds) && (seconds * 2) })
      end
    end

    def test_no_items_give_no_results
      around_leaks { assert_equal([], map([]) { |item| item }) }
    end

    def test_nil_false_and_pairs_are_items_and_results_like_any_other
      assert_equal([nil, false, nil], map([nil, false, nil]) { |item| item })
      assert_equal([3, 7], map({ 1 => 2, 3 => 4 }) { |key, value| key + value })
    end

    def test_any_enumerable_is_a_source
      assert_equal([2, 4, 6], map(1..3) { |item| item * 2 })
      assert_equal([2, 4, 6], map([1, 2, 3].each_entry) { |item| item * 2 })
      assert_equal([1, 4], map((1..4).lazy.reject(&:even?).map { |item| item == 1 ? 1 : 4 }) { |item| item })
    end

    def test_an_outcome_tells_what_became_of_its_item
      outcome = each_result([21]) { |item| item * 2 }.first
      assert_equal([0, 21, 42, nil, true, 1],
                   [outcome.index, outcome.item, outcome.value, outcome.error, outcome.ok?, outcome.attempts])
      assert_operator(outcome.finished_at, :>=, outcome.started_at)
      assert_operator(Plait::Deadline.now, :>=, outcome.finished_at)
      refute_nil(outcome.worker)
    end

    def test_an_endless_source_is_pulled_only_as_far_as_needed
      pulled = 0
      source = Enumerator.new { |items| loop { items << (pulled += 1) } }
      around_leaks do
        values = each_result(source) { |item| item * 10 }.lazy.map(&:value).first(5)
        assert_equal([10, 20, 30, 40, 50], values.sort) if LIMIT == 1
        assert_equal(5, values.uniq.size)
        assert_operator(pulled, :<, 5_000)
      end
    end

    def test_results_can_be_asked_for_one_by_one
      around_leaks do
        results = each_result([3, 1, 2]) { |item| item }
        values = Array.new(3) { results.next.value }
        assert_equal([1, 2, 3], values.sort)
        assert_raises(StopIteration) { results.next }
      end
    end

    # Ruby may take a stale value on a stack for a reference: one or two of ten stay.
    def test_enumerations_that_were_begun_by_next_and_dropped_go_with_the_garbage
      skip("JRuby collects when it likes") unless RUBY_ENGINE == "ruby"
      before = Support::Leaks::Holdings.now
      held = -> { Support::Leaks::Holdings.now.since(before).size }
      most = Thread.new { Array.new(10) { begin_and_drop && held.call }.max }.value
      Support::Waiting.wait_until(what: "their end") do
        GC.start
        held.call <= most / 3
      end
    end

    def begin_and_drop
      results = each_result(1.step) { |item| item }
      assert_equal(1, results.take(1).size)
      results.next
    end

    def test_a_limit_may_be_beyond_all_that_a_machine_can_run
      around_leaks { assert_equal([2], map([1], limit: 2**70) { |item| item * 2 }) }
    end

    def test_never_more_than_the_limit_is_in_flight
      outcomes = each_result(Array.new(12, 0.02)) { |seconds| sleep(seconds) }.to_a
      events = outcomes.flat_map { |outcome| [[outcome.started_at, 1], [outcome.finished_at, -1]] }
      most = events.sort_by { |at, step| [at, step] }.reduce([0, 0]) do |(now, top), (_, step)|
        [now + step, [top, now + step].max]
      end.last
      assert_operator(most, :<=, LIMIT)
    end

    def test_a_failure_ends_the_run_and_names_its_item
      around_leaks do
        error = assert_raises(KeyError) do
          map(%w[a b c]) { |item| item == "b" ? raise(KeyError, "not there") : item }
        end
        assert_equal("not there (item 1: \"b\")", error.message)
        assert_equal([1, "b", []], [error.index, error.item, error.suppressed.reject { |other| other }])
        refute_empty(error.backtrace)
      end
    end

    def test_failures_can_be_collected
      outcomes = map([1, 2, 3], on_error: :collect) { |item| item == 2 ? raise(ArgumentError, "two") : item }
      assert_equal([1, nil, 3], outcomes.map(&:value))
      assert_instance_of(ArgumentError, outcomes[1].error)
      assert_equal("two", outcomes[1].error.message)
    end

    def test_failures_can_be_skipped
      assert_equal([1, 3], map([1, 2, 3], on_error: :skip) { |item| item == 2 ? raise("two") : item })
    end

    def test_a_failed_item_is_tried_again
      Journal.open do |journal|
        value = map([journal.path], retries: { count: 3, base: 0.001 }) do |path|
          File.open(path, "a") { |file| file.syswrite("try\n") }
          File.readlines(path).size < 3 ? raise("not yet") : :done
        end
        assert_equal([[:done], 3], [value, journal.lines.size])
      end
    end

    def test_retries_end
      outcome = map([1], retries: { count: 2, base: 0.001 }, on_error: :collect) { |_| raise("never") }.first
      assert_equal([3, "never"], [outcome.attempts, outcome.error.message])
    end

    def test_an_item_that_takes_too_long_is_a_timeout
      around_leaks do
        outcomes = map([0, 30], timeout: 2, on_error: :collect) { |seconds| sleep(seconds) }
        assert_predicate(outcomes[0], :ok?)
        assert_instance_of(Plait::TimeoutError, outcomes[1].error)
      end
    end

    def test_a_rescue_in_the_body_does_not_swallow_the_timeout
      outcome = map([30], timeout: 0.1, on_error: :collect) do |seconds|
        sleep(seconds)
      rescue StandardError
        :swallowed
      end.first
      assert_instance_of(Plait::TimeoutError, outcome.error)
    end

    def test_the_deadline_ends_the_whole
      around_leaks do
        started = Plait::Deadline.now
        error = assert_raises(Plait::DeadlineExceeded) { map([30] * 20, deadline: 0.3) { |seconds| sleep(seconds) } }
        assert_operator(Plait::Deadline.now - started, :<, 25)
        assert_kind_of(Plait::Failure, error)
      end
    end

    # A busy machine may start the first item only after the first deadline.
    def test_the_deadline_is_an_outcome_for_the_items_it_left_no_time_for
      runs = [2, 20].lazy.map do |deadline|
        map([0, 60, 60, 60, 60, 60], deadline: deadline, on_error: :collect) { |seconds| sleep(seconds) }
      end
      outcomes = runs.find { |all| all[0].ok? }
      refute_nil(outcomes, "the first item was never in time")
      assert_equal(6, outcomes.size)
      outcomes.drop(1).each { |outcome| assert_instance_of(Plait::DeadlineExceeded, outcome.error) }
    end

    # An exception that reaches the thread before a file is closed leaves it open until the garbage is collected.
    def test_cancellation_runs_ensure_blocks
      Journal.open do |journal|
        around_leaks do
          Support::Patience.patiently do
            assert_raises(IOError) do
              map([[journal.path, 30], [journal.path, 30], [journal.path, 0]]) do |path, seconds|
                Thread.handle_interrupt(Exception => :never) { File.open(path, "a") { |file| file.syswrite("in\n") } }
                sleep(0.01) until seconds.positive? || File.readlines(path).size >= 3
                seconds.zero? ? raise(IOError, "enough") : sleep(seconds)
              ensure
                File.open(path, "a") { |file| file.syswrite("out\n") }
              end
            end
          end
        end
        assert_equal(%w[in in in out out out], journal.lines.sort)
      end
    end

    def test_leaving_early_cancels_the_rest
      Journal.open do |journal|
        around_leaks do
          each_result([[journal.path, 0], [journal.path, 30], [journal.path, 30]]) do |path, seconds|
            sleep(seconds)
          ensure
            File.open(path, "a") { |file| file.syswrite("out\n") }
          end.each { |_| break }
        end
        assert_includes(1..3, journal.lines.size)
      end
    end

    def test_an_exception_of_the_consumer_cancels_the_rest
      around_leaks do
        assert_raises(NotImplementedError) do
          each_result([0, 30, 30]) { |seconds| sleep(seconds) }.each { raise NotImplementedError }
        end
      end
    end

    def test_the_first_success_wins
      around_leaks do
        value = Plait.first([[0, :fails], [0.05, :wins], [30, :late]], on: on) do |seconds, name|
          sleep(seconds)
          name == :fails ? raise("no") : name
        end
        assert_equal(:wins, value)
      end
    end

    def test_when_all_fail_first_tells_why
      error = assert_raises(Plait::AllFailed) { Plait.first([1, 2], on: on) { |item| raise("no #{item}") } }
      assert_equal(["no 1", "no 2"], error.errors.map(&:message).sort)
      assert_match(/all 2 candidates failed/, error.message)
    end

    def test_progress_counts
      seen = []
      map([1, 2, 3], progress: ->(done, total) { seen << [done, total] }) { |item| item }
      assert_equal([[1, 3], [2, 3], [3, 3]], seen)
    end

    def test_an_exception_that_is_not_an_items_own_affair_reaches_the_caller
      around_leaks do
        assert_raises(SystemExit) { map([1], on_error: :collect) { |_| exit(3) } }
      end
    end

    def test_a_run_inside_a_run
      values = map([1, 2]) { |item| Plait.map([10, 20], on: :sequence) { |inner| inner * item } }
      assert_equal([[10, 20], [20, 40]], values)
    end

    def test_runs_can_follow_each_other
      around_leaks { 5.times { assert_equal([1, 2], map([1, 2]) { |item| item }) } }
    end

    def test_two_threads_can_run_at_once
      around_leaks do
        results = Array.new(2) { |n| Thread.new { map([n, n + 10]) { |item| sleep(0.01) && item } } }.map(&:value)
        assert_equal([[0, 10], [1, 11]], results)
      end
    end

    def test_a_run_in_the_child_of_a_fork
      around_leaks do
        read, write = IO.pipe
        pid = fork do
          write.syswrite(map([1, 2]) { |item| item * 2 }.inspect)
          exit!(0)
        end
        Process.wait(pid)
        write.close
        assert_equal("[2, 4]", read.read)
      ensure
        [read, write].each(&:close)
      end
    end

    def test_wrong_options_are_refused_before_anything_runs
      { limit: 0, timeout: -1, deadline: 0, retries: -1, on_error: :ignore, progress: 1 }.each do |name, value|
        error = assert_raises(Plait::UsageError) { map([1], name => value) { |_| flunk } }
        assert_match(/\A#{name}: /, error.message)
      end
      assert_raises(Plait::UsageError) { map([1], nonsense: 1) { |_| flunk } }
      assert_raises(Plait::UsageError) { map(5) { |_| flunk } }
      assert_raises(Plait::UsageError) { map([1]) }
    end
  end
end
