# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/cli"
require "plait/cli/fetch/book"
require "set"

class FetchLineSetTest < Minitest::Test
  LineSet = Plait::CLI::Fetch::LineSet

  def test_ranges_join
    set = LineSet.new
    assert_equal([true, true, true], [1, 3, 5].map { |n| set.add(n) })
    assert_equal [[1, 1], [3, 3], [5, 5]], set.to_a
    set.add(2)
    set.add(6)
    assert_equal [[1, 3], [5, 6]], set.to_a
    set.add(4)
    assert_equal [[1, 6]], set.to_a
    refute set.add(4)
    assert_equal 6, set.size
  end

  def test_it_is_a_set
    random = Random.new(3)
    numbers = Array.new(3000) { random.rand(1..2000) }
    set, reference = LineSet.new, Set.new
    numbers.each { |n| assert_equal !reference.add?(n).nil?, set.add(n) }
    assert_equal((0..2001).map { |n| reference.include?(n) }, (0..2001).map { |n| set.include?(n) })
    assert_equal reference.size, set.size
    assert_equal set.to_a, LineSet.new(set.to_a).to_a
    set.to_a.each_cons(2) { |(_, last), (first, _)| assert_operator first, :>, last + 1 }
  end
end
