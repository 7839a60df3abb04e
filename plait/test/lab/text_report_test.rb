# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/lab"

class TextReportTest < Minitest::Test
  AnswerTable = Plait::Lab.const_get(:AnswerTable)
  Tables = Plait::Lab.const_get(:Tables)
  LEAST = Plait::Lab.const_get(:TextReport)::LEAST

  # A renamed column would silently become one that goes last.
  def test_every_column_that_may_go_exists
    assert_empty LEAST - Tables::SPEED - Tables::LATENCY - Tables::MEMORY
  end

  def test_on_a_narrow_terminal_the_answer_stays
    table = AnswerTable.of([])
    assert_empty AnswerTable::KEPT - table.columns
    text = Plait.const_get(:TextTable).new(table.columns, [%w[work threads 1s 2 yes]], alignments: table.alignments, width: 30,
                                                                                       keep: AnswerTable::KEPT)
    assert_equal ["in sequence → with it", "faster"], text.dropped
  end

  def test_what_may_not_go_is_the_answer
    kept = (Tables::SPEED + Tables::LATENCY + Tables::MEMORY) - LEAST
    assert_equal ["", "time", "%s/s", "compared", "median", "99 %", "longest", "bytes"], kept.uniq
  end
end
