# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/cli"
require "plait/lab"
require "plait/cli/presentation"

class PresentationTest < Minitest::Test
  Tables = Plait::Lab::Tables

  # A renamed column would silently become one that goes last.
  def test_every_column_that_may_go_exists
    assert_empty Plait::CLI::Presentation::LEAST - Tables::SPEED - Tables::LATENCY - Tables::MEMORY
  end

  def test_what_may_not_go_is_the_answer
    kept = (Tables::SPEED + Tables::LATENCY + Tables::MEMORY) - Plait::CLI::Presentation::LEAST
    assert_equal ["", "time", "%s/s", "compared", "median", "99 %", "longest", "bytes"], kept.uniq
  end
end
