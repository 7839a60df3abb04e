# frozen_string_literal: true

require "test_helper"
require "plait"

class ScalabilityTest < Minitest::Test
  Scalability = Plait::Lab::Scalability

  def points(limits, single, contention, coherence)
    limits.to_h { |n| [n, n * single / (1 + (contention * (n - 1)) + (coherence * n * (n - 1)))] }
  end

  def test_the_law_is_found_again
    fit = Scalability.of(points([1, 2, 4, 8, 16, 32, 64], 100.0, 0.05, 0.001))
    assert_in_delta(0.05, fit.contention, 1e-6)
    assert_in_delta(0.001, fit.coherence, 1e-8)
    assert_equal(31, fit.peak)
    assert_in_delta(100.0, fit.throughput(1), 1e-6)
  end

  def test_without_a_peak
    fit = Scalability.of(points([4, 16, 64, 256], 50.0, 0.0, 0.0))
    assert_equal([0.0, 0.0, nil], [fit.contention.round(9), fit.coherence.round(9), fit.peak])
    assert_nil(Scalability.of(points([4, 16, 64, 256], 50.0, 0.1, 0.0)).peak)
  end

  def test_noise_of_a_few_percent
    exact = points([1, 4, 16, 64, 256], 100.0, 0.02, 0.0001)
    noisy = exact.each_with_index.to_h { |(n, rate), index| [n, rate * (index.even? ? 1.03 : 0.97)] }
    assert_includes(60..160, Scalability.of(noisy).peak)
  end

  def test_what_the_law_does_not_describe
    assert_nil(Scalability.of({ 1 => 1.0, 2 => 2.0, 4 => 4.0 }))
    assert_nil(Scalability.of({ 1 => 1.0, 2 => 50.0, 4 => 1.0, 8 => 70.0 }))
  end
end
