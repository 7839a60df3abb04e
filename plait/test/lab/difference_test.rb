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
    assert_equal([%w[sleeping threads threads]].reject { |_, one, other| one == other }, answers(found))
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
    before = Lab::ReportSet.new([report(row(:sequence, 4.0), environment: Lab::Environment.new({ ruby: "3.1", cpus: 2 }))])
    after = Lab::ReportSet.new([report(row(:threads, 4.0), environment: Lab::Environment.new({ ruby: "3.4", cpus: 2 }))])
    found = Lab::Difference.new(before, after)
    assert_equal([%w[ruby 3.1 3.4]], found.tables.last.rows)
    assert_match(/The two files have no row in common\.\z/, found.to_s)
  end

  def test_equal_files_differ_seldom
    random = Random.new(7)
    alarms = Array.new(200) do
      one, other = Array.new(2) { set(*%i[sequence threads fibers].map { |on| row(on, *Array.new(ROUNDS) { 1 + random.rand }) }) }
      Lab::Difference.new(one, other).tables.last.rows.any? { |cells| %w[faster slower].include?(cells.last) }
    end
    assert_operator(alarms.count(true), :<=, 10)
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
