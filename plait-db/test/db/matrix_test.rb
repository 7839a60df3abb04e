# frozen_string_literal: true

# It measures time:
# bin/test: alone

require "test_helper"
require_relative "matrix_measurement"
require "plait/cli"
require "plait/cli/doctor/databases"

# Each row of the matrix against a real server: what it calls good is good, and the rest is at least what it says.
class DBMatrixTest < Minitest::Test
  # Some measure up to 30 times.
  def hard_timeout = 600

  # So many of so many: other processes may have the machine just now, and one may be luck.
  ENOUGH = 3
  TRIES = 30
  # What is good is held to that. What computes here, or decodes many rows at once, wants a processor for itself: it is held to
  # twice what the matrix says of it, or to these.
  Matrix = Plait::CLI::Doctor::Databases::Matrix
  GOOD = { ratio: Matrix::RATIO, stall: Matrix::STALL / 1000.0 }.freeze
  MORE = 2
  COMPUTING = { ratio: 5, stall: 0.25 }.freeze

  Matrix::ROWS.each do |row|
    define_method(:"test_#{row.driver}_#{row.call.tr(" ", "_")}") do
      need(row)
      MatrixMeasurement.new(row.driver, row.call).open { |measurement| assert_within(measurement, **bounds(row)) }
    end
  end

  def test_the_guide_has_it
    guide = File.read(File.join(Support::ROOT, "guides/databases.md"))
    assert_includes(guide, to_markdown)
  end

  private

  def to_markdown
    head = "| driver | call | in a fiber it | ÷ threads | others wait, ms |\n|---|---|---|---|---|\n"
    head + Matrix::ROWS.map do |row|
      format("| %s | %s | %s | %.2f | %.1f |\n", row.driver, row.call, Matrix::WAYS.fetch(row.way), row.ratio, row.stall)
    end.join
  end

  def need(row)
    require row.gem.tr("-", "_")
  rescue LoadError
    skip("the gem #{row.gem} is not installed: bin/setup test drivers")
  end

  def bounds(row)
    return GOOD if row.good? && row.call != "large result"

    { ratio: [row.ratio * MORE, COMPUTING[:ratio]].max, stall: [row.stall * MORE / 1000.0, COMPUTING[:stall]].max }
  end

  def assert_within(measurement, ratio:, stall:)
    tries = []
    TRIES.times do
      tries << measurement.take
      return pass if tries.count { |try| try.within?(ratio, stall) } == ENOUGH
    end
    flunk("#{ratio} × and #{stall} s were not met #{ENOUGH} times: #{tries.join("; ")}")
  end
end
