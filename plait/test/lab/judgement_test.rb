# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/lab"

class LabJudgementTest < Minitest::Test
  Judgement = Plait::Lab::Judgement
  RUNS = 400
  ROUNDS = 30

  def setup
    @random = Random.new(20_261_123)
  end

  # Every look counts: a run goes on for all rounds, and one wrong answer at any of them makes the run a false alarm.
  def test_equal_rows_are_seldom_called_faster_or_slower
    [2, 6, 23].each do |rows|
      alarms = runs_of(rows) do |series|
        (6..ROUNDS).any? { |rounds| told_apart?(judge(series, rounds), 0...rows) }
      end
      assert_operator(alarms, :<=, 0.05, "#{rows} equal rows")
    end
  end

  # The sequence is slow, the rest are equal: the row that takes its place must not be the luckiest of them.
  def test_equal_rows_behind_a_slow_reference_are_seldom_told_apart
    [6, 23].each do |rows|
      alarms = runs_of(rows) do |series|
        series[0].map! { |value| value * 3 }
        told_apart?(judge(series, 15), 1...rows)
      end
      assert_operator(alarms, :<=, 0.05, "#{rows - 1} equal rows")
    end
  end

  def test_a_row_that_takes_a_fifth_longer_is_found_in_ten_rounds
    [2, 6, 23].each do |rows|
      found = runs_of(rows) do |series|
        series[1].map! { |value| value * 1.2 }
        judge(series, 10).against(1, 0).answer == :slower
      end
      assert_operator(found, :>=, rows == 2 ? 0.99 : 0.94, "1.2 × among #{rows} rows")
    end
  end

  def test_a_row_that_takes_a_fifth_longer_is_found_by_rounds_until_settled
    found = runs_of(2) do |series|
      series[1].map! { |value| value * 1.2 }
      (6..10).any? { |rounds| judge(series, rounds).settled? } && judge(series, 10).best.zero?
    end
    assert_operator(found, :>=, 0.95)
  end

  def test_the_simplest_of_equals_is_named
    judged = judge_rows(sequence: [3.0], threads: [1.01], fibers: [1.0], processes: [2.0])
    assert_equal(:threads, judged.best)
    assert_equal([[:fibers], [], :same], [judged.equals, judged.unsettled, judged.certainty])
    assert_equal(%i[slower same slower], %i[sequence fibers processes].map { |row| judged.against(row).answer })
    assert_in_delta(3.0 / 1.01, judged.against(:sequence).ratio)
    assert_equal(:clear, judge_rows(sequence: [3.0], threads: [1.0]).certainty)
    assert_equal(:sequence, judge_rows(sequence: [1.0], threads: [1.0]).best)
  end

  def test_a_chain_of_faster_rows_ends_at_the_fastest
    assert_equal(:d, judge_rows(a: [4.0], b: [3.0], c: [2.0], d: [1.0]).best)
  end

  def test_a_near_row_is_seldom_slower_than_is_said
    true_times = [3.0, 1.05, 1.0, 1.03, 1.08, 1.15]
    near = 0
    wrong = runs_of(true_times.size) do |series|
      series.zip(true_times) { |values, factor| values.map! { |value| value * factor } }
      judged = [8, 12, 20, ROUNDS].map { |rounds| judge(series, rounds) }.select { |one| one.certainty == :near }
      near += 1 if judged.any?
      judged.any? { |one| true_times[one.favourite] > one.most_lost }
    end
    assert_operator(wrong, :<=, 0.05)
    assert_operator(near, :>=, RUNS * 0.7)
  end

  def test_how_much_a_named_row_loses_at_most
    rows = { sequence: [1.06] * 8, threads: [1.0, 1.1] * 4 }
    judged = Judgement.new(rows)
    assert_equal([:near, :sequence], [judged.certainty, judged.favourite])
    assert_in_delta(1.06, judged.most_lost)
    assert_equal(:near, Judgement.new(rows, noise: 1.09).certainty)
    assert_in_delta(1.09, Judgement.new(rows, noise: 1.09).most_lost)
    assert_equal(:unsettled, Judgement.new(rows, noise: 1.11).certainty)
    rates = Judgement.new({ a: [100] * 8, b: [98, 107] * 4 }, lower_is_better: false)
    assert_in_delta(1.07, rates.most_lost)
  end

  def test_few_rounds_settle_nothing
    judged = Judgement.new({ sequence: [2.0] * 5, threads: [1.0] * 5 })
    assert_nil(judged.best)
    assert_equal([:unsettled, %i[sequence threads]], [judged.certainty, judged.unsettled])
    assert_equal([nil, 5, :unsettled], judged.against(:threads, :sequence).to_a.last(3))
    assert_nil(judged.most_lost)
    assert_equal(:alone, Judgement.new({ alone: [1.0] }).best)
  end

  def test_a_disturbed_round_disturbs_both
    slow = [1, 5, 1, 1, 9, 1, 2, 1]
    judged = Judgement.new({ sequence: slow.map { |factor| factor * 1.3 }, threads: slow })
    assert_equal([:threads, :clear], [judged.best, judged.certainty])
  end

  def test_rates_are_better_when_higher
    judged = Judgement.new({ a: [100] * 8, b: [200] * 8 }, lower_is_better: false)
    assert_equal(:b, judged.best)
    assert_in_delta(0.5, judged.against(:a).ratio)
    assert_equal(:slower, judged.against(:a).answer)
  end

  def test_noise_unsettles_what_is_smaller
    rows = { sequence: [1.2] * 8, threads: [1.0] * 8 }
    assert_equal(%i[clear unsettled], [1.1, 1.3].map { |noise| Judgement.new(rows, noise: noise).certainty })
    assert_in_delta(1.0, Judgement.noise([1.0] * 8, [1.0] * 8))
    assert_in_delta(1.25, Judgement.noise([1.0] * 8, [1.25] * 8))
    assert_in_delta(1.0, Judgement.noise([], []))
  end

  def test_rounds_without_a_value_are_left_out
    judged = Judgement.new({ a: [1.0] * 8, b: [2.0, nil, *[2.0] * 6], c: [], d: [0] * 8 })
    assert_equal([7, 0, 8], %i[b c d].map { |row| judged.against(row, :a).rounds })
    assert_equal(0, judged.against(:a, :d).rounds)
  end

  def test_simple_mechanisms_come_first
    rows = [[:ractors, 2], [%i[processes fibers], [2, 4]], [:threads, 16], [:sequence, nil], [:threads, 4], [:sidekiq, nil]]
    ordered = rows.sort_by { |on, limit| Judgement.simplicity(on, limit) }
    assert_equal([[:sequence, nil], [:threads, 4], [:threads, 16], [:ractors, 2], [:sidekiq, nil],
                  [%i[processes fibers], [2, 4]]], ordered)
  end

  private

  # @return [Float] the share of runs for which the block is true
  def runs_of(rows)
    RUNS.times.count { yield Array.new(rows) { Array.new(ROUNDS) { noise } } }.fdiv(RUNS)
  end

  # Log-normal, 5 %.
  def noise = Math.exp(0.05 * Math.sqrt(-2 * Math.log(1 - @random.rand)) * Math.cos(2 * Math::PI * @random.rand))

  def judge(series, rounds) = Judgement.new(series.each_with_index.to_h { |values, row| [row, values.first(rounds)] })

  def told_apart?(judged, rows)
    judged.best && rows.any? { |row| row != judged.best && %i[faster slower].include?(judged.against(row).answer) }
  end

  def judge_rows(**rows) = Judgement.new(rows.transform_values { |values| values * 12 })
end
