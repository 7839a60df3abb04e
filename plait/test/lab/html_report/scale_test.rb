# frozen_string_literal: true

# bin/test: jruby

require_relative "../builders"

class LabScaleTest < Minitest::Test
  Scale = Plait::Lab.const_get(:HtmlReport).const_get(:Scale)

  def test_an_even_axis_starts_at_zero
    scale = scale_of([3.0, 10.0 / 2])
    refute_predicate(scale, :logarithmic?)
    assert_equal([[0.0, "0.0"], [39.22, "2.0"], [78.43, "4.0"]], scale.marks)
    assert_in_delta(98.04, scale.place(5.0))
  end

  def test_a_wide_axis_counts_powers_of_ten
    scale = scale_of([0.001, 100.0])
    assert_predicate(scale, :logarithmic?)
    assert_equal(%w[0.001 0.01 0.1 1.0 10.0 100.0], scale.marks.map(&:last))
    places = scale.marks.map(&:first)
    assert_equal(places.sort, places)
    assert(places.each_cons(2).map { |one, other| other - one }.minmax.then { |least, most| most - least < 0.05 })
  end

  def test_a_wide_axis_of_few_powers_has_marks_between
    assert_equal(%w[10.0 20.0 50.0 100.0], scale_of([9.0, 110.0]).marks.map(&:last))
  end

  def test_marks_stay_few_and_inside
    random = Random.new(1)
    500.times do
      values = Array.new(3) { 10.0**random.rand(-6.0..6.0) }
      marks = scale_of(values).marks
      assert_includes(2..9, marks.size, values.inspect)
      assert(marks.all? { |place, _| place.between?(0, 100) })
    end
  end

  def test_nothing_but_zero
    assert_equal([[0.0, "0.0"]], scale_of([0.0, 0.0]).marks.first(1))
    refute_predicate(scale_of([0.0, 5.0]), :logarithmic?)
  end

  private

  def scale_of(values) = Scale.new(values, &:to_s)
end
