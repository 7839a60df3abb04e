# frozen_string_literal: true

module Contracts
  # What every mechanism must do in the same way with a {Plait::Job}. The including test names it, `def on = :sidekiq`, and has
  # in `jobs` a module with Double (twice the item), Fails (an ArgumentError "no good"), Sleeps (seconds).
  module JobContract
    def map(items, job, **options) = Plait.map(items, on: on, **options, &Plait.job(job))

    def test_results_come_in_input_order
      assert_equal((1..30).map { |n| n * 2 }, map(1..30, jobs::Double, limit: 5))
    end

    def test_no_items_give_no_results
      assert_equal([], map([], jobs::Double))
    end

    def test_a_failure_ends_the_run_and_names_its_item
      error = assert_raises(ArgumentError) { map([7], jobs::Fails) }
      assert_kind_of(Plait::Failure, error)
      assert_equal([7, 0, 1], [error.item, error.index, error.attempts])
    end

    def test_failures_can_be_collected
      outcomes = map([1, 2], jobs::Fails, on_error: :collect)
      assert_equal([[ArgumentError, 1], [ArgumentError, 2]], outcomes.map { |outcome| [outcome.error.class, outcome.item] })
    end

    def test_failures_can_be_skipped
      assert_equal([], map([1, 2], jobs::Fails, on_error: :skip))
    end

    def test_a_failed_item_is_tried_again
      outcome = map([1], jobs::Fails, on_error: :collect, retries: { count: 2, base: 0 }).first
      assert_equal([ArgumentError, 3], [outcome.error.class, outcome.attempts])
    end

    def test_an_item_that_takes_too_long_is_a_timeout
      assert_raises(Plait::TimeoutError) { map([30], jobs::Sleeps, timeout: 0.2) }
    end

    def test_the_first_success_wins
      assert_equal(4, Plait.first([2], on: on, &Plait.job(jobs::Double)))
    end

    def test_progress_counts
      seen = []
      map([1, 2, 3], jobs::Double, progress: ->(*counts) { seen << counts })
      assert_equal([[1, 3], [2, 3], [3, 3]], seen)
    end

    def test_wrong_options_are_refused_before_anything_runs
      assert_raises(Plait::UsageError) { map([1], jobs::Double, limit: 0) }
      assert_raises(Plait::UsageError) { map([1], jobs::Double, nonsense: 1) }
    end
  end
end
