# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/values/text_table"

class TextTableTest < Minitest::Test
  TextTable = Plait.const_get(:TextTable)
  COLUMNS = ["", "time", "min – max", "n", "compared"].freeze
  ROWS = [["fibers (limit 64)", "1.2 s", "1.1 s – 1.3 s", "3", "fastest"],
          ["日本 × é", "12.2 s", "12.1 s – 12.3 s", "3", "10 ×"]].freeze
  ALIGNMENTS = %i[left right right right right].freeze

  def test_aligned_by_what_is_shown_on_the_screen
    grid = grid(nil)
    widths = [*grid.head, *grid.body.flatten].map { |line| TextTable.columns(line) }
    assert_equal [widths.first], widths.uniq
    assert_equal "  fibers (limit 64)   1.2 s    1.1 s – 1.3 s  3   fastest", grid.body.first.first
    assert_equal "  日本 × é           12.2 s  12.1 s – 12.3 s  3      10 ×", grid.body.last.first
    assert_empty grid.dropped
  end

  def test_columns_of_a_terminal
    { "abc" => 3, "é ×" => 3, "日本" => 4, "e\u0301" => 1, "ﾊ" => 1, "Ｗ" => 2, "👍" => 2, "" => 0 }.each do |text, columns|
      assert_equal columns, TextTable.columns(text), text
    end
  end

  def test_leaves_out_the_least_important_columns_first
    assert_equal ["n"], grid(55, least: ["n", "min – max"]).dropped
    assert_equal ["min – max", "n"], grid(45, least: ["n", "min – max"]).dropped
    assert_equal ["compared"], grid(50).dropped
    (20..60).each { |width| assert_fits(grid(width, least: ["n"]), width) }
  end

  def test_labels_are_shortened_last
    narrow = grid(24)
    assert_equal ["min – max", "n", "compared"], narrow.dropped
    assert_equal "  fibers (limit…   1.2 s", narrow.body.first.first
  end

  def test_prose_in_the_last_column_is_wrapped_under_itself
    rows = [["ractors", "one two three four five six seven eight"], %w[threads short]]
    grid = TextTable.new(["", "why"], rows, alignments: %i[left left], width: 36)
    assert_equal [["  ractors  one two three four five", "           six seven eight"], ["  threads  short"]], grid.body
  end

  def test_prose_is_wrapped_where_nothing_else_has_an_edge
    grid = TextTable.new(["", "why"], [["ractors", "word " * 100]], alignments: %i[left left])
    assert_operator grid.body.first.map(&:size).max, :<=, 110
  end

  def test_control_characters_stay_out
    grid = TextTable.new(["", "x"], [["a\e[31m\nb", "1\t2"]], alignments: %i[left right])
    assert_equal [["  a [31m b  1 2"]], grid.body
    refute_match(/[[:cntrl:]]/, grid.head.join)
  end

  def test_broken_bytes_are_shown_as_such
    grid = TextTable.new(["", "x"], [["a\xff", "1"]], alignments: %i[left right])
    assert_equal [["  a?  1"]], grid.body
  end

  def test_prose_wraps_at_blanks
    assert_equal ["one two", "three", "four"], TextTable.wrap("one two\nthree  four", 8)
  end

  def test_prose_a_word_that_is_too_long_stays_whole
    assert_equal %w[a /a/very/long/path b], TextTable.wrap("a /a/very/long/path b", 6)
  end

  def test_prose_nothing
    assert_equal [""], TextTable.wrap("", 10)
  end

  private

  def grid(width, least: []) = TextTable.new(COLUMNS, ROWS, alignments: ALIGNMENTS, width: width, least: least)

  def assert_fits(grid, width)
    [*grid.head, *grid.body.flatten].each { |line| assert_operator TextTable.columns(line), :<=, width, line }
  end
end
