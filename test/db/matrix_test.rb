# frozen_string_literal: true

# It measures time:
# bin/test: alone

require_relative "../test_helper"
require_relative "matrix_measurement"
require "plait/db/matrix"

# Each row of the matrix against a real server: what it calls good is good, and the rest is at least what it says.
class DBMatrixTest < Minitest::Test
  # In the best of them: other processes may have the machine just now.
  TRIES = 30
  # What waits, and what computes here or decodes many rows at once.
  STRICTLY = { ratio: Plait::DB::Matrix::RATIO, stall: Plait::DB::Matrix::STALL / 1000.0 }.freeze
  LOOSELY = { ratio: 8, stall: 0.25 }.freeze

  Plait::DB::Matrix::ROWS.each do |row|
    define_method(:"test_#{row.driver}_#{row.call.tr(" ", "_")}") do
      need(row)
      strict = row.good? && row.call != "large result"
      MatrixMeasurement.new(row.driver, row.call).open do |measurement|
        assert_within(measurement, **(strict ? STRICTLY : LOOSELY))
      end
    end
  end

  def test_the_guide_has_it
    guide = File.read(File.join(Support::ROOT, "guides/databases.md"))
    assert_includes(guide, Plait::DB::Matrix.to_markdown)
  end

  private

  def need(row)
    require row.gem.tr("-", "_")
  rescue LoadError
    skip("the gem #{row.gem} is not installed: bundle install --with drivers")
  end

  def assert_within(measurement, ratio:, stall:)
    tries = []
    TRIES.times do
      tries << measurement.take
      return pass if tries.last.within?(ratio, stall)
    end
    flunk("#{ratio} × and #{stall} s were never met: #{tries.join("; ")}")
  end
end
