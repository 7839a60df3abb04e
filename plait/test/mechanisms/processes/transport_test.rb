# frozen_string_literal: true

require "test_helper"
require "plait"

# What travels through the pipes.
class ProcessesTransportTest < Minitest::Test
  MEGA = 1 << 20

  def map(items, **options, &block) = Plait.map(items, on: :processes, **options, &block)

  def error_of(*items, &block) = map(items, limit: 1, on_error: :collect, &block).first.error

  def test_a_result_of_100_megabytes
    size = 100 * MEGA
    result, = map([size], limit: 1) { |n| "x" * n }

    assert_equal(size, result.bytesize)
    assert_equal("x", result[-1])
  end

  def test_an_item_of_100_megabytes
    assert_equal([100 * MEGA] * 2, map(["x" * (100 * MEGA)] * 2, limit: 2, &:bytesize))
  end

  def test_both_directions_full
    items = Array.new(24) { |i| (i % 10).to_s * (3 * MEGA) }

    assert_equal(items, map(items, limit: 2) { |s| s })
  end

  def test_many_middling_ones_both_ways
    items = Array.new(600) { |i| (i % 10).to_s * 30_000 }

    assert_equal(items, map(items, limit: 2) { |s| s })
  end

  def test_encodings_and_binary
    values = ["ä", "\xff\x00".b, :sym, nil, 1.5, 1 << 100, { [1] => Struct.new(:a).name }, Time.at(0), 3..4]

    assert_equal(values, map(values, limit: 2) { |x| x })
  end

  def test_items_are_copies
    item = +"mine"
    results = map([item, item], limit: 1) { |s| s << "!" }

    assert_equal(%w[mine! mine!], results)
    assert_equal("mine", item)
  end

  def test_a_result_that_cannot_travel
    error = error_of(1) { { list: [1, { deep: -> {} }] } }

    assert_kind_of(Plait::UnmarshalableError, error)
    assert_match(/the result\[:list\]\[1\]\[:deep\] is a Proc/, error.message)
    assert_match(/on: :threads/, error.message)
  end

  def test_an_item_that_cannot_travel_leaves_the_others_alone
    good, bad, other = map([1, $stdin, 3], limit: 2, on_error: :collect) { |x| x }

    assert_equal([1, 3], [good.value, other.value])
    assert_kind_of(Plait::UnmarshalableError, bad.error)
    assert_match(/the item is an IO/, bad.error.message)
    assert_equal(0, bad.attempts)
  end

  def test_a_result_whose_class_only_the_worker_knows
    error = error_of(1) { Object.const_set(:OnlyInTheWorker, Class.new).new }

    assert_kind_of(Plait::UnmarshalableError, error)
    assert_match(/OnlyInTheWorker.*require/m, error.message)
  end

  def test_an_item_whose_class_only_the_parent_knows
    items = Enumerator.new do |y|
      y << 1
      y << Object.const_set(:OnlyInTheParent, Class.new).new
    end
    _, second = map(items, limit: 1, on_error: :collect) { |x| x }

    assert_kind_of(Plait::UnmarshalableError, second.error)
    assert_match(/OnlyInTheParent/, second.error.message)
  end

  def test_errors_keep_class_message_backtrace_and_cause
    error = error_of(:key) do |key|
      {}.fetch(key)
    rescue KeyError
      raise ArgumentError, "outer"
    end

    assert_instance_of(ArgumentError, error)
    assert_equal("outer", error.message)
    assert_match(/#{Regexp.escape(__FILE__)}:\d+/, error.backtrace.first)
    assert_instance_of(KeyError, error.cause)
    assert_equal(:key, error.cause.key)
  end

  class Stubborn < StandardError
    attr_reader :code

    def initialize(code, handle)
      @code = code
      @handle = handle
      super("code #{code}")
    end
  end

  def test_errors_that_hold_what_cannot_travel
    error = error_of(1) { raise Stubborn.new(42, -> {}) }

    assert_instance_of(Stubborn, error)
    assert_equal(["code 42", 42], [error.message, error.code])
    assert_match(/#{Regexp.escape(__FILE__)}/, error.backtrace.first)
  end

  def test_errors_whose_class_only_the_worker_knows
    error = error_of(1) { raise Object.const_set(:WorkersOwnError, Class.new(IndexError)), "mine" }

    assert_instance_of(IndexError, error)
    assert_equal("WorkersOwnError: mine", error.message)
  end

  def test_exit_in_a_body_is_the_callers
    error = assert_no_leaks { assert_raises(SystemExit) { map([1], limit: 1) { exit(3) } } }

    assert_equal(3, error.status)
  end

  def test_deep_recursion_is_told
    deeper = ->(n) { deeper.call(n + 1) }

    assert_raises(SystemStackError) { map([0], limit: 1) { |n| deeper.call(n) } }
  end

  def test_a_result_too_deep_to_dump
    error = error_of(1) { 100_000.times.inject([]) { |inner, _| [inner] } }

    assert_kind_of(Plait::Error, error)
  end
end
