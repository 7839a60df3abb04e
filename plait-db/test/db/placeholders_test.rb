# frozen_string_literal: true

require "test_helper"
require "bigdecimal"
require "date"
require "plait/db"
require "plait/db/mysql"

class DBPlaceholdersTest < Minitest::Test
  Placeholders = Plait::DB::Mysql.const_get(:Placeholders)

  def fill(sql, *values) = Placeholders.fill(sql, values) { |text| "'#{text.gsub("'", "''")}'" }

  LITERALS = {
    nil => "NULL", true => "1", false => "0", 42 => "42", -1.5 => "-1.5", "it's" => "'it''s'", :word => "'word'",
    BigDecimal("12345678901234567890.5") => "12345678901234567890.5", "\xFF\x00".b => "x'ff00'", "plain".b => "'plain'",
    Date.new(2024, 2, 29) => "'2024-02-29'", Time.local(2024, 2, 29, 1, 2, 3.5) => "'2024-02-29 01:02:03.500000'"
  }.freeze

  LITERALS.each do |value, literal|
    define_method(:"test_#{value.class}_#{literal}") { assert_equal("a #{literal} b", fill("a ? b", value)) }
  end

  # Where a question mark is none.
  OPAQUE = ["'?'", "'it''s ?'", "'\\'?'", "\"?\"", "`?`", "/* ? */", "/*\n?*/", "-- ?\n", "# ?\n", "'a' '?'"].freeze

  OPAQUE.each do |text|
    define_method(:"test_in_#{text.inspect}") { assert_equal("SELECT #{text}, 5", fill("SELECT #{text}, ?", 5)) }
  end

  def test_a_question_mark_in_a_value_is_no_placeholder
    assert_equal("'?', '\\1', 7", fill("?, ?, ?", "?", "\\1", 7))
  end

  def test_two_minus_signs_are_no_comment
    assert_equal("5--3, 4", fill("?--3, ?", 5, 4))
  end

  def test_as_many_values_as_placeholders
    assert_match(/not enough values for .*SELECT/, assert_raises(Plait::UsageError) { fill("SELECT ?, ?", 1) }.message)
    assert_match(/2 values are too many/, assert_raises(Plait::UsageError) { fill("SELECT ?", 1, 2) }.message)
    assert_equal("SELECT ?", fill("SELECT ?"))
  end

  # In what is never closed a value could become a part of the statement.
  def test_what_is_never_closed
    ["'a ?", "\"?", "`?", "/* ?", "'\\' ?"].each do |text|
      assert_match(/is opened and never closed/, assert_raises(Plait::UsageError, text) { fill("SELECT #{text}", 1) }.message)
    end
  end

  def test_a_backslash_that_is_no_escape
    quote = ->(text) { "<#{text}>" }
    assert_equal("'\\', <a>, '?'", Placeholders.fill("'\\', ?, '?'", ["a"], backslash: false, &quote))
  end

  def test_times_are_written_in_the_zone_in_which_they_are_read
    time = Time.new(2024, 2, 29, 1, 2, 3, "+05:00")
    literal = ->(zone) { Placeholders.fill("?", [time], zone: zone) { |text| text } }
    assert_equal("2024-02-28 20:02:03.000000", literal.call(:utc))
    assert_equal(time.getlocal.strftime("%F %T.%6N"), literal.call(:local))
  end

  def test_what_sql_has_no_literal_for
    [Object.new, [1], { a: 1 }, Float::NAN, Float::INFINITY, BigDecimal("NaN")].each { |odd| assert_raises(Plait::UsageError) { fill("?", odd) } }
  end
end
