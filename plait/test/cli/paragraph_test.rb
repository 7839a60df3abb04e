# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/cli"
require "plait/cli/paragraph"

class ParagraphTest < Minitest::Test
  def test_wraps_at_blanks
    assert_equal ["one two", "three", "four"], Plait::CLI::Paragraph.wrap("one two\nthree  four", 8)
  end

  def test_a_word_that_is_too_long_stays_whole
    assert_equal %w[a /a/very/long/path b], Plait::CLI::Paragraph.wrap("a /a/very/long/path b", 6)
  end

  def test_nothing
    assert_equal [""], Plait::CLI::Paragraph.wrap("", 10)
  end
end
