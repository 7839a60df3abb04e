# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/lab"

class TextReportTest < Minitest::Test
  Tables = Plait::Lab.const_get(:Tables)
  LEAST = Plait::Lab.const_get(:TextReport)::LEAST

  # A renamed column would silently become one that goes last.
  def test_every_column_that_may_go_exists
    assert_empty LEAST - Tables::SPEED - Tables::LATENCY - Tables::MEMORY
  end

  def test_what_may_not_go_is_the_answer
    kept = (Tables::SPEED + Tables::LATENCY + Tables::MEMORY) - LEAST
    assert_equal ["", "time", "%s/s", "compared", "median", "99 %", "longest", "bytes"], kept.uniq
  end
end
