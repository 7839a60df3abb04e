# frozen_string_literal: true

# bin/test: jruby

require_relative "../test_helper"
require "plait/rpc"

class RPCExposureTest < Minitest::Test
  Exposure = Plait::RPC::Exposure

  class Base
    def inherited_one = 0
  end

  module Mixin
    def mixed_in = 0
  end

  class Service < Base
    include Mixin

    def add(a, b) = a + b
    def method_missing(name, ...) = name == :ghost ? 1 : super
    def respond_to_missing?(*) = true
    def self.of_the_class = 0

    protected

    def guarded = 0

    private

    def hidden = 0
  end

  def names(...) = Exposure.of(...).keys.sort

  def test_what_the_class_itself_defines
    assert_equal(%w[add], names(Service.new))
  end

  def test_nothing_of_rubys_own
    exposed = Exposure.of(Service.new)
    dangerous = %w[send __send__ public_send instance_eval instance_exec eval system exec exit fork method define_singleton_method
                   class object_id to_s inspect hash freeze tap then extend instance_variable_set open require ` __id__ ==]
    dangerous.each { |name| assert_nil(exposed[name], name) }
  end

  def test_what_is_defined_for_the_object_alone
    service = Service.new
    def service.alone = 5
    assert_equal(%w[add alone], names(service))
    object = Object.new
    def object.alone = 5
    assert_equal(%w[alone], names(object))
    assert_equal(5, Exposure.of(object)["alone"].call([]))
  end

  def test_a_module
    assert_equal(%w[pair], names(Module.new { def self.pair(*) = 2 }))
    assert_equal(%w[of_the_class], names(Service))
  end

  def test_a_basic_object
    plain = Class.new(BasicObject) { def answer = 42 }
    assert_equal(42, Exposure.of(plain.new)["answer"].call([]))
    assert_equal(%w[answer], names(plain.new))
  end

  def test_blocks
    exposed = Exposure.of({ add: ->(a, b) { a + b }, "puts" => proc { |*all| all }, size: "four".method(:size) })
    assert_equal([3, [1, 2], 4], [exposed["add"].call([1, 2]), exposed["puts"].call([1, 2]), exposed["size"].call([])])
    assert_equal([[2, 2], [0, nil], [0, 0]], exposed.values.map(&:arity))
    assert_raises(Plait::UsageError) { Exposure.of({ add: 5 }) }
  end

  def test_a_list
    assert_equal(%w[add inherited_one], names(Service.new, methods: [:add, "inherited_one"]))
    exposed = Exposure.of(Service.new, methods: { "math.add" => :add })
    assert_equal([["math.add"], 3], [exposed.keys, exposed["math.add"].call([1, 2])])
    %i[hidden guarded].each do |name|
      error = assert_raises(Plait::UsageError) { Exposure.of(Class.new { private def hidden = 0 }.new, methods: [name]) }
      assert_match(/no public method #{name}/, error.message)
    end
  end

  def test_nothing_to_call
    [Object.new, Class.new.new, {}, Module.new, nil, 5, "text", :name, [1], $stdout].each do |handler|
      assert_raises(Plait::UsageError, handler.inspect) { Exposure.of(handler) }
    end
    assert_equal(%w[size], names("text", methods: [:size]))
  end

  def test_arguments
    exposed = Exposure.of({ none: -> {}, two: ->(_a, _b) {}, one_or_two: ->(_a, _b = 1) {}, any: ->(*) {}, some: ->(_a, *) {} })
    { "none" => 0..0, "two" => 2..2, "one_or_two" => 1..2, "any" => 0..5, "some" => 1..5 }.each do |name, sizes|
      (0..5).each { |size| assert_equal(sizes.include?(size), exposed[name].refusal([1] * size).nil?, "#{name} with #{size}") }
    end
    assert_equal("none takes 0 arguments, not 5", exposed["none"].refusal([1] * 5).message)
    assert_equal("one_or_two takes 1 to 2 arguments, not 5", exposed["one_or_two"].refusal([1] * 5).message)
    assert_equal("some takes at least 1 argument, not 0", exposed["some"].refusal([]).message)
  end

  def test_keywords
    callable = Exposure.of({ get: ->(path, size:, deep: false) { [path, deep, size] } })["get"]
    assert_equal(["/", true, 5], callable.call(["/", { "deep" => true, "size" => 5 }]))
    assert_equal(["/", false, 5], callable.call(["/", { size: 5 }]))
    [["/"], ["/", { "deep" => 1 }], ["/", { "size" => 1, "other" => 2 }], ["/", { 1 => 2 }], [{ "size" => 1 }]].each do |given|
      refute_nil(callable.refusal(given), given.inspect)
    end
    open = Exposure.of({ all: ->(*list, **named) { [list, named] } })["all"]
    assert_equal([[1], { a: 2 }], open.call([1, { "a" => 2 }]))
    plain = Exposure.of({ map: ->(map) { map } })["map"]
    assert_equal({ "a" => 1 }, plain.call([{ "a" => 1 }]))
  end

  def test_how_quick_a_method_is_seen_to_be
    callable = Exposure.of({ it: -> {} })["it"]
    refute_predicate(callable, :quick?)
    2.times { callable.took(0.00001) }
    assert_predicate(callable, :quick?)
    callable.took(0.5)
    15.times { callable.took(0.00001) }
    refute_predicate(callable, :quick?)
    callable.took(0.00001)
    assert_predicate(callable, :quick?)
  end
end
