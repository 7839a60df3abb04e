# frozen_string_literal: true

# bin/test: jruby

require_relative "builders"

class LabTextTest < Minitest::Test
  Text = Plait::Lab::Text

  def test_everything_becomes_valid_text
    strings = ["ok", "\xFF\xFE", "é".encode("ISO-8859-1"), "é".b, :symbol, nil,
               "\x81".dup.force_encoding("Windows-1252")]
    cleaned = strings.map { |string| Text.clean(string) }
    assert_equal(["ok", "??", "é", "é", "symbol", "", "?"], cleaned)
    assert(cleaned.all? { |string| string.encoding == Encoding::UTF_8 && string.valid_encoding? })
  end

  def test_errors_are_one_line
    assert_equal("KeyError: no key", Text.of_error(KeyError.new("no\n  key")))
    assert_equal("RuntimeError", Text.of_error(RuntimeError.new("")))
    assert_equal("say why", Text.of_error(Plait::UsageError.new("say why")))
    assert_operator(Text.of_error(RuntimeError.new("x" * 9000)).size, :<, 500)
  end

  def test_an_error_says_where_it_was_raised
    error = assert_raises(RuntimeError) { raise "no" }
    assert_match(/\ARuntimeError: no, at .*text_test\.rb:#{__LINE__ - 1}\z/, Text.of_error(error))
    assert_equal("say why", Text.of_error(assert_raises(Plait::UsageError) { raise Plait::UsageError, "say why" }))
  end
end
