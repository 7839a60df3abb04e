# frozen_string_literal: true

# bin/test: alone

require "test_helper"
require "plait"
require_relative "../../../bench/labelled/workloads"

class AdviceTest < Minitest::Test
  # On a busy machine a short budget settles nothing; a long one costs its time only there.
  def hard_timeout = 600

  BUDGETS = [6, 24, 96].freeze

  def test_waits_are_overlapped
    advice = in_growing_times(*BUDGETS) do |budget|
      Plait.advise((1..24).to_a, budget: budget, among: %i[sequence threads]) { |n| Labelled.wait(20, n) }.tap do |found|
        assert_equal(:threads, found.on, found.to_s)
        assert_operator(found.gain.median, :>, 2, found.to_s)
      end
    end
    assert_match(/\Ause threads, \d+ at once: .* → .* ms, .*×/, advice.to_s)
    assert_match(/^  Plait\.map\(items, on: :threads, limit: \d+\)/, advice.to_s)
    assert_match(/^Why: an item takes .*; it waits \d+ % of its time, and an event loop sees the wait\.$/, advice.to_s)
    assert_equal(:threads, advice.to_h[:on])
  end

  # Threads overlap one of the waits, so all is done sooner; but each item then waits for the lock.
  def test_goals
    assert(5.times.any? { advised_for(:throughput) == :threads })
    assert(5.times.any? { advised_for(:latency) == :sequence }) # a busy machine makes sleeps longer
  end

  def advised_for(goal)
    lock = Mutex.new
    Plait.advise((1..40).to_a, goal: goal, budget: 4, among: %i[sequence threads]) do |n|
      lock.synchronize { sleep(0.01) }
      Labelled.wait(5, n)
    end.on
  end

  def test_the_goal_memory
    in_growing_times(*BUDGETS) do |budget|
      advice = Plait.advise((1..8).to_a, goal: :memory, budget: budget, among: %i[threads processes]) { |n| Labelled.wait(20, n) }
      assert_equal(:threads, advice.on, advice.to_s)
    end
  end

  def test_a_body_that_threads_spoil
    buffer = {}
    advice = Plait.advise((1..12).to_a, budget: 30, among: %i[sequence threads]) do |n|
      buffer[:n] = n
      sleep(0.005)
      buffer[:n]
    end
    assert_match(/its result differs at item/, advice.excluded[:threads], advice.to_s)
    assert_equal(:sequence, advice.on)
  end

  def test_items_that_can_not_travel
    advice = Plait.advise((1..6).map { |n| -> { n } }, budget: 30, among: %i[sequence processes], &:call)
    assert_match(/Proc/, advice.excluded[:processes], advice.to_s)
  end

  def test_one_item
    advice = Plait.advise([1], budget: 30) { |n| Labelled.compute(5, n) }
    assert_equal([:sequence, :clear], [advice.on, advice.certainty], advice.to_s)
    assert_match(/^Not: .*threads.*: there is one item, and nothing to run beside it/, advice.to_s)
    assert_equal(:sequence, Plait.advise([1], budget: 30, among: %i[threads]) { |n| n }.on)
  end

  def test_a_body_that_fails_everywhere
    advice = Plait.advise([1, 2], budget: 30) { |n| raise(KeyError, "item #{n}") }
    assert_nil(advice.on)
    assert_equal(:unknown, advice.certainty)
    assert_match(/\Ano mechanism runs this block: KeyError: item 1, at /, advice.to_s)
  end

  def test_a_body_that_never_ends
    advice = Plait.advise([1], budget: 0.5) { |_| sleep }
    assert_match(/an item has no result after 0\.2 s/, advice.to_s)
    assert_equal(:unknown, advice.certainty)
  end

  def test_a_body_that_exits
    assert_match(/SystemExit/, Plait.advise([1], budget: 30) { |_| exit }.failure)
  end

  def test_a_budget_that_is_too_small_says_what_was_learned
    in_growing_times(0.05, 0.05, 0.05) do |seconds| # a machine that stands still meanwhile learns nothing
      advice = Plait.advise((1..50).to_a, budget: seconds) { |n| Labelled.wait(5, n) }
      assert_equal(:unknown, advice.certainty, advice.to_s)
      assert_match(/\Ano answer: 0\.05 s were too short\nLearned: an item takes /, advice.to_s)
    end
  end

  def test_once_runs_no_item_twice
    reader, writer = IO.pipe
    Plait.advise((1..200).to_a, budget: 5, once: true, among: %i[sequence threads]) { |n| writer.syswrite("#{n}\n") && n }
    writer.close
    numbers = reader.read.split
    assert_equal(numbers.uniq, numbers)
    refute_empty(numbers)
  ensure
    reader.close
  end

  def test_wrong_arguments
    { { goal: :money } => "goal:", { budget: 0 } => "budget:", { among: [] } => "among:", { colour: 1 } => "colour" }
      .each do |options, word|
        assert_match(word, assert_raises(Plait::UsageError) { Plait.advise([1], **options) { nil } }.message)
      end
    assert_raises(Plait::UsageError) { Plait.advise([]) { nil } }
    assert_raises(Plait::UsageError) { Plait.advise(1.step) { nil } }
    assert_raises(Plait::UsageError) { Plait.advise([1]) }
    assert_raises(Plait::UnknownMechanism) { Plait.advise([1], among: %i[threats]) { nil } }
  end

  # The short form of `rake lab:labelled`.
  def test_workloads_whose_best_mechanism_is_known
    %w[waits_few one_item].each do |name|
      one = Labelled.all.find { |workload| workload.name == name }
      assert(BUDGETS.any? { |budget| right?(one, budget) }, @told)
    end
  end

  private

  # On a busy machine a short budget settles nothing; and of answers that are sure 5 % may be wrong.
  def right?(workload, budget)
    advice = Plait.advise(workload.items, budget: budget, among: %i[sequence threads processes], &workload.body)
    @told = "#{@told}#{advice}\n\n"
    workload.right.include?(advice.on)
  end
end
