# frozen_string_literal: true

# bin/test: jruby

require_relative "builders"

class LabDifferenceTest < Minitest::Test
  include LabBuilders

  ROUNDS = 16

  def test_each_row_before_and_after
    before = set(row(:sequence, *around(4.0)), row(:threads, *around(2.0)), row(:fibers, *around(2.0)))
    after = set(row(:sequence, *around(4.0)), row(:threads, *around(1.0)), row(:fibers, *around(3.0)))
    found = Lab::Difference.new(before, after)
    assert_equal([["sequence", "4.00 s", "4.00 s", "1.00 ×", "same"], ["threads", "2.00 s", "1.00 s", "0.50 ×", "faster"],
                  ["fibers", "2.00 s", "3.00 s", "1.50 ×", "slower"]], found.tables.last.rows)
    assert_match(/Of 3 rows 1 faster, 1 slower, 1 the same\.\z/, found.to_s)
    assert_empty(answers(found), "threads both times")
  end

  def test_few_rounds_settle_nothing
    found = Lab::Difference.new(set(row(:sequence, 4.0)), set(row(:sequence, 1.0)))
    assert_equal("not settled", found.tables.last.rows.first.last)
  end

  def test_another_answer_is_told
    before = set(row(:sequence, *around(4.0)), row(:threads, *around(2.0)))
    after = set(row(:sequence, *around(1.0)), row(:threads, *around(2.0)))
    assert_equal([%w[sleeping threads sequence]], answers(Lab::Difference.new(before, after)))
  end

  def test_rows_of_one_file_only_and_another_machine
    before = Lab::ReportSet.new([report(row(:sequence, 4.0), environment: { ruby: "3.1", cpus: 2 })])
    after = Lab::ReportSet.new([report(row(:threads, 4.0), environment: { ruby: "3.4", cpus: 2 })])
    found = Lab::Difference.new(before, after)
    assert_equal([%w[ruby 3.1 3.4]], found.tables.last.rows)
    assert_match(/no row of the same work in common: only before: sequence \(sleeping\)/, found.to_s)
  end

  def test_equal_files_differ_seldom
    random = Random.new(7)
    alarms = Array.new(200) do
      one, other = Array.new(2) { set(*%i[sequence threads fibers].map { |on| row(on, *Array.new(ROUNDS) { 1 + random.rand }) }) }
      Lab::Difference.new(one, other).tables.last.rows.any? { |cells| %w[faster slower].include?(cells.last) }
    end
    assert_operator(alarms.count(true), :<=, 10)
  end

  def test_a_true_difference_is_found
    random = Random.new(3)
    found = Array.new(20) do
      one, other = [1.0, 1.25].map { |factor| set(row(:sequence, *Array.new(20) { factor * (0.9 + (random.rand / 5)) })) }
      Lab::Difference.new(one, other).tables.last.rows.first.last
    end
    assert_operator(found.count("slower"), :>=, 18, found.tally.to_s)
  end

  def test_what_is_below_the_noise_of_a_run_is_not_settled
    busy = Lab::Row.new(cell(:sequence), around(1.0).map { |wall| measurement(wall) }, twin: [nil, *[1.5] * 15])
    before = Lab::ReportSet.new([report(busy, row(:threads, *around(3.0)))])
    after = set(row(:sequence, *around(1.3)), row(:threads, *around(6.0)))
    assert_equal(["not settled", "slower"], Lab::Difference.new(before, after).tables.last.rows.map(&:last))
  end

  def test_other_work_and_differing_results_are_not_compared
    one = set(row(:sequence, 4.0))
    larger = Lab::ReportSet.new([report(row(:sequence, 8.0), title: "sleeping longer")])
    assert_equal("The two files have no row of the same work in common: only before: sequence (sleeping); " \
                 "only after: sequence (sleeping longer).", Lab::Difference.new(one, larger).to_s)
    differing = set(row(:sequence, 2.0), row(:threads, 1.0, results: digest_of(0)))
    assert_empty(Lab::Difference.new(differing, differing).tables)
  end

  # Against all orders of two small samples.
  def test_the_interval_is_exact
    [[3, 4], [4, 4], [5, 3]].each do |size, other|
      orders = (0...(size + other)).to_a.combination(size).map do |places|
        places.sum { |place| ((0...(size + other)).to_a - places).count { |one| one < place } }
      end
      [0.05, 0.1, 0.2].each do |alpha|
        rare = (0..(size * other)).take_while { |pairs| orders.count { |one| one <= pairs }.fdiv(orders.size) <= alpha / 2 }
        wanted = rare.size
        assert_equal([wanted.zero? ? nil : wanted - 1], [Lab::Difference.depth(size, other, alpha)])
      end
    end
  end

  def test_as_markdown
    text = Lab::Difference.new(set(row(:sequence, 4.0)), set(row(:sequence, 1.0))).lines(markdown: true).join("\n")
    assert_includes(text, "| sequence | 4.00 s | 1.00 s | 0.25 × | not settled |")
  end

  private

  def around(seconds) = Array.new(ROUNDS) { |round| seconds * (1 + (((round % 5) - 2) / 200.0)) }

  def set(*rows) = Lab::ReportSet.new([report(*rows)])

  def answers(found) = found.tables.select { |table| table.title == "Other answers" }.flat_map(&:rows)
end
