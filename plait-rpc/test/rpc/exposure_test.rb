# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "delegate"
require "fileutils"
require "forwardable"
require "ostruct"
require "plait/rpc"
require "singleton"

class RPCExposureTest < Minitest::Test
  Exposure = Plait::RPC.const_get(:Exposure)
  # JRuby warns of another name for instance_eval.
  EVALUATING = RUBY_ENGINE == "ruby" ? :instance_eval : :instance_variable_set

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

  # Handlers of every kind, of which `mine` can be called; those that forward calls do so to an Array.
  class Delegator < SimpleDelegator
    def mine = 1
  end

  class Generated < DelegateClass(Array)
    def mine = 1
  end

  class Forwarder
    extend Forwardable

    def_delegators :@list, :size, :pack, :instance_eval
    def mine = 1
  end

  class Bag < OpenStruct # rubocop:disable Style/OpenStructUse -- a kind of handler
    def mine = 1
  end

  class Ghost
    def mine = 1
    def method_missing(name, *arguments) = [1].public_send(name, *arguments)
    def respond_to_missing?(*) = true
  end

  class Mixed
    include Comparable
    include Enumerable
    include FileUtils
    include Singleton
    prepend(Module.new { def mine = 1 })

    public_class_method :new
  end

  class List < Array
    def mine = 1
  end

  module Helper
    extend self # rubocop:disable Style/ModuleFunction -- a kind of handler

    def mine = 1
  end

  module Alone
    extend Forwardable
    extend SingleForwardable

    def self.mine = 1
  end

  class Root
    def self.mine = 1
    def mine = 1
  end

  class Branch < Root
    class << self
      extend Forwardable

      private

      def hidden = 1
    end
  end

  Pair = Struct.new(:left) { def mine = 1 }
  Plain = Class.new(BasicObject) { def mine = 1 }

  KINDS = { delegator: Delegator.new([1]), delegate_class: Generated.new([1]), forwardable: Forwarder.new, bag: Bag.new(size: 1),
            anonymous: Class.new(SimpleDelegator) { def mine = 1 }.new([1]), method_missing: Ghost.new, mixed: Mixed.new,
            list: List[1], module: Helper, module_alone: Alone, class: Root, subclass: Branch, inherited: Branch.new,
            struct: Pair.new(1), basic: Plain.new, singleton: Object.new.tap { |one| def one.mine = 1 } }.freeze
  OTHERS = [::Delegator, SimpleDelegator, Bag.superclass, Struct, Class, Module, Array, Hash, String, Proc, IO, Binding, Method,
            Process::Status].freeze
  DANGEROUS = [*OTHERS, Forwardable, SingleForwardable, Singleton].flat_map do |owner|
    owner.instance_methods + owner.private_instance_methods
  end.push(*Kernel.singleton_methods, *Bag.new.methods, *FileUtils.methods,
           *%i[try try! with in? instance_values]).tap { |names| names.delete(:mine) }.uniq.freeze

  def test_names_of_rubys_on_every_kind_of_handler
    assert_operator(DANGEROUS.size, :>, 200)
    KINDS.each do |kind, handler|
      exposed = Exposure.of(handler)
      assert_equal([], DANGEROUS.select { |name| exposed[name.name] }, kind)
      assert_equal(1, exposed.fetch("mine").call([]), kind)
      assert_equal(exposed.keys.sort, Exposure.own(handler).map(&:name).sort)
    end
  end

  # As programs keep the original of a method that they replace.
  class Renaming
    alias original_send send
    alias_method :go, EVALUATING
    define_method(:shell, Kernel.instance_method(:system))
    def send(text) = text
    def mine = 1
    public :exec, :instance_variable_get
  end

  def test_methods_of_rubys_have_no_other_name
    assert_equal(%w[mine send], names(Renaming.new))
    assert_equal(%w[mine], names(Class.new(Renaming) { undef_method(:send) }.new))
    assert_equal(%w[go], names(Renaming.new, methods: %w[go]))
    alone = Object.new
    alone.singleton_class.class_eval { alias_method(:go, EVALUATING) && define_method(:mine) { 1 } }
    assert_equal(%w[mine], names(alone))
  end

  def test_members_with_names_of_rubys_can_be_called
    record = Struct.new(:system, :class, :send) { def mine = 1 }
    assert_equal(%w[class class= mine send send= system system=], names(record.new(1, 2, 3)))
    assert_equal(%w[class class= mine send send= system system=], names(Class.new(record).new(1, 2, 3)))
    odd = Class.new(record) { define_method(:go, Kernel.instance_method(:send)) }
    assert_nil(Exposure.of(odd.new(1, 2, 3))["go"])
    return unless RUBY_VERSION >= "3.2"

    assert_equal(%w[hash then], names(Data.define(:hash, :then).new(1, 2))) # rubocop:disable Lint/DataDefineOverride
  end

  module Before
    def before = 0
  end

  class Prepended
    def mine = 1
    class << self
      prepend Before

      def of_the_class = 1
    end
  end

  def test_what_is_prepended_to_one_object_hides_nothing
    one = Prepended.new.tap { |object| object.singleton_class.prepend(Before) }
    def one.own = 1
    assert_equal([%w[before mine own], %w[before of_the_class]], [names(one), names(Prepended)])
  end

  def test_a_class_with_ancestors_of_its_own
    liar = Class.new { def mine = 1 }
    def liar.ancestors = []
    assert_equal(%w[mine], names(liar.new))
  end

  def test_objects_of_rubys_own
    objects = [TOPLEVEL_BINDING.receiver, Class.new(ARGF.class).new]
    objects << ENV if RUBY_ENGINE == "ruby" # a Hash on JRuby, where the names of its methods are keys
    objects.each do |object|
      error = assert_raises(Plait::UsageError) { names(object) }
      assert_match(/nothing can be called/, error.message)
    end
  end

  def test_what_forwards_is_called_where_it_is_listed
    [Delegator.new([1]), Generated.new([1]), Ghost.new, Bag.new(size: 1), SimpleDelegator.new([1])].each do |handler|
      assert_equal(1, Exposure.of(handler, methods: [:size])["size"].call([]))
    end
  end

  def test_own_methods_with_names_of_rubys
    handler = Class.new do
      def to_s = "mine"
      def send(text) = text
      def tap = 5
      def public_send = 6
      private :public_send
    end
    assert_equal(%w[send tap to_s], names(handler.new))
    assert_equal("a", Exposure.of(handler.new)["send"].call(["a"]))
  end

  def test_what_a_subclass_hides
    hidden = Class.new(Service) { private :add, :inherited_one }
    assert_equal(%w[mixed_in], names(hidden.new))
    taken = Class.new(Service) { undef_method :mixed_in }
    assert_equal(%w[add inherited_one], names(taken.new))
  end

  # As gems do, after the handler was defined too.
  def test_what_is_mixed_into_rubys_classes
    extension = Module.new { def plait_anywhere = 1 }
    [Object, Kernel, Struct, ::Delegator, Module].each { |owner| owner.include(extension) }
    Object.class_eval { def plait_everywhere = 1 }
    KINDS.each do |kind, handler|
      assert_nil(Exposure.of(handler)["plait_anywhere"], kind)
      assert_nil(Exposure.of(handler)["plait_everywhere"], kind)
    end
  ensure
    Object.class_eval { undef_method :plait_everywhere }
    extension.class_eval { undef_method :plait_anywhere }
  end

  def test_what_the_program_defines
    assert_equal(%w[add inherited_one mixed_in], names(Service.new))
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
    assert_equal(%w[add alone inherited_one mixed_in], names(service))
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
    assert_instance_of(Plait::RPC::Server, Plait::RPC::Server.new(plain.new))
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
