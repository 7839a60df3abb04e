# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/values/quantity"

class QuantityTest < Minitest::Test
  Quantity = Plait.const_get(:Quantity)

  def test_seconds
    shown = { 12.345 => "12.3 s", 3 => "3.00 s", 0.9999 => "1.00 s", 0.0123 => "12.3 ms", 0.000_5 => "500 µs",
              2e-8 => "20.0 ns", 0 => "0 s", nil => "–", 240.0 => "240 s" }
    assert_equal(shown.values, shown.keys.map { |value| Quantity.seconds(value) })
  end

  def test_bytes
    shown = { 0 => "0 B", 12.4 => "12 B", 999 => "999 B", 999.9 => "1.00 kB", 1_234 => "1.23 kB",
              5_000_000 => "5.00 MB", 25_000_000_000 => "25.0 GB", -1_500 => "-1.50 kB", nil => "–" }
    assert_equal(shown.values, shown.keys.map { |value| Quantity.bytes(value) })
  end

  def test_numbers_ratios_and_shares
    assert_equal(%w[0 0.25 25.1 251 12,345 1,234,567 –],
                 [0, 0.25, 25.1, 251, 12_345, 1_234_567, nil].map { |value| Quantity.number(value) })
    assert_equal(["1.00 ×", "3.33 ×", "12.0 ×", "–"], [1, 3.333, 12, nil].map { |value| Quantity.times(value) })
    assert_equal(["99 %", "0 %", "–"], [0.994, 0, nil].map { |value| Quantity.percent(value) })
  end

  def test_memory_as_systems_count_it
    assert_equal(["512 B", "1 kB", "1.5 MB", "8 GB"], [512, 1024, 1536 * 1024, 8 << 30].map { |value| Quantity.memory(value) })
    assert_equal(["2", "1.5"], [2.0, 1.5].map { |value| Quantity.plain(value) })
  end
end
