# frozen_string_literal: true

# bin/test: bundler

require "test_helper"
require "support/fresh_ruby"
require "support/ractors"
require "plait"
require "tempfile"

# What a ractor can't see or take: the error says what Ruby refuses, where, and what to do.
class RactorsIsolationTest < Minitest::Test
  def setup = Support::Ractors.needed

  LIST = [1] # rubocop:disable Style/MutableConstant -- what is tested
  FROZEN = { 1 => "one", 2 => "two" }.freeze
  Point = Struct.new(:x, :y)
  IN_ITEMS = /(Put list into the items \(items\.map .*constant frozen by|Freeze list with) Ractor\.make_shareable.*on: :processes/

  module Words
    def self.of(number) = number.to_s
  end

  class Registry
    @known = []
    @@shared = []

    class << self
      attr_reader :known
    end

    def self.shared = @@shared
  end

  class Shop
    attr_reader :price

    def initialize
      @price = 5
    end

    def by_variable = Plait.map([1, 2], on: :ractors) { |count| [count].map { |one| one * @price } }

    def by_method = Plait.map([1, 2], on: :ractors) { |count| count * price }

    def with_a_variable_around
      list = ["a secret"]
      Plait.map([0], on: :ractors) { |index| list.at(index) }
    end

    def with_a_variable_of_its_own = Plait.map([1, 2], on: :ractors) { |count| @last = count }
  end

  def test_a_variable_of_the_surroundings_is_named_before_anything_runs
    list = []
    error = refused { |x| list << x }
    assert_match(/can't be run in ractors: .*(outer variables? \(list\)|from variable 'list')/, error.message)
    assert_match(IN_ITEMS, error.message)
    assert_includes([ArgumentError, Ractor::IsolationError], error.cause.class)
    assert_empty(list)
  end

  def test_the_value_of_a_variable_is_not_shown
    list = ["a secret"]
    error = refused { |x| list.at(x) }
    refute_match(/secret/, error.message)
    assert_match(IN_ITEMS, error.message)
    error = assert_raises(Plait::UnshareableError) { Ractor.make_shareable(Shop.new).with_a_variable_around }
    refute_match(/secret/, error.message)
    assert_match(/can refer an unshareable object from variable [`']list'\. Freeze list with/, error.message)
  end

  # Ruby 4.0 takes outer variables whose values can't change, if they get one value only.
  def test_variables_whose_values_can_not_change
    list = ["a"].freeze
    again = 1
    again += 1 if again
    error = refused { |x| x + again }
    assert_match(/variable 'again' may be reassigned\. Give again its value once|outer variables \(again\)/, error.message)
    skip("Ruby #{RUBY_VERSION} takes no outer variables") unless Ractor.respond_to?(:shareable_proc)
    assert_equal(["a"], Plait.map([0], on: :ractors) { |x| list.at(x) })
  end

  def test_a_block_that_yields
    error = assert_raises(Plait::UnshareableError) { yielding { 1 } }
    assert_match(/uses [`']yield'\. Take the outer block as a constant lambda/, error.message)
  end

  def test_a_block_made_from_a_method
    list = []
    error = assert_raises(Plait::UnshareableError) { Plait.map([1], on: :ractors, &list.method(:push)) }
    assert_match(/it was made from a method .* Write a block that makes what it needs/, error.message)
    assert_empty(list)
  end

  def test_a_block_made_from_a_symbol_or_a_module_is_fine
    assert_equal([2, 3], Plait.map([1, 2], on: :ractors, &:succ))
    assert_equal([1.0, 2.0], Plait.map([1, 4], on: :ractors, &Math.method(:sqrt)))
    assert_equal(%w[1 4], Plait.map([1, 4], on: :ractors, &Words.method(:of)))
  end

  # Read in the ractor they would be nil, without a word.
  def test_variables_of_the_object_around_the_block_are_refused
    error = assert_raises(Plait::UnshareableError) { Shop.new.by_variable }
    assert_match(/it uses @price of the object around it, and in a ractor `self` is the ractor\. Put the values into/,
                 error.message)
  end

  def test_an_object_that_can_not_change_keeps_its_variables
    assert_equal([[5], [10]], Ractor.make_shareable(Shop.new).by_variable)
    assert_equal([5, 10], Ractor.make_shareable(Shop.new).by_method)
  end

  def test_methods_of_the_object_around_the_block
    error = assert_raises(Plait::UnshareableError) { Shop.new.by_method }
    assert_match(/undefined (local variable or )?method [`']price'.*not the object around the block: call the method of a/m,
                 error.message)
  end

  def test_a_variable_that_the_block_would_set_on_the_ractor
    error = assert_raises(Plait::UnshareableError) { Shop.new.with_a_variable_of_its_own }
    assert_match(/keep such values in local variables of the block/, error.message)
  end

  # What a body meets only when it runs: advice => body.
  AT_RUN_TIME = {
    /constant RactorsIsolationTest::LIST .*Freeze it where it is made, RactorsIsolationTest::LIST = Ractor\.make_shareable/ =>
      ->(_) { LIST.size },
    /instance variables of classes.*Put what it needs into the items/ => ->(_) { Registry.known },
    /class variables.*Put what it needs into the items/ => ->(_) { Registry.shared },
    /global variables? \$PROGRAM.*Put what it needs into the items/ => ->(_) { $PROGRAM_NAME = "x" }
  }.freeze

  def test_what_a_body_meets_only_when_it_runs
    AT_RUN_TIME.each do |pattern, body|
      error = assert_raises(Plait::UnshareableError, pattern.source) { Plait.map([7], on: :ractors, &body) }
      assert_match(/\Athe block failed on item 0 because it runs in a ractor: .*\(item 0: 7\)\z/m, error.message)
      assert_match(pattern, error.message)
      assert_match(/#{File.basename(__FILE__)}/, error.backtrace.join)
    end
  end

  # With Bundler `require` may be a method that no ractor can call. From Ruby 3.4 on the main ractor loads the file.
  def test_a_file_that_a_body_loads
    outcome, = Tempfile.create(%w[plait .rb]) do |file|
      Plait.map([file.path], on: :ractors, on_error: :collect) { |path| require(path) }
    end
    return assert(outcome.value) if outcome.ok?

    assert_match(/\Athe block failed on item 0 because it runs in a ractor: /, outcome.error.message)
    assert_match(/Ruby loads no file inside a ractor: `require` it|A method made by define_method can't/, outcome.error.message)
  end

  def test_a_constant_of_a_module_without_a_name
    body = Module.new { module_eval("LIST = [1]\ndef self.body = ->(_) { LIST.size }", __FILE__, __LINE__) }.body
    error = assert_raises(Plait::UnshareableError) { Plait.map([1], on: :ractors, &body) }
    assert_match(/in constant LIST by .*, LIST = Ractor\.make_shareable\(…\)/, error.message)
  end

  def test_a_message_of_any_bytes_is_the_users_own
    ["\xFF", "\xFF".b, "no ractor".encode("UTF-16LE")].each do |message|
      outcome = Plait.map([message], on: :ractors, on_error: :collect) { |text| raise(KeyError, text) }.first
      assert_equal([KeyError, message.b], [outcome.error.class, outcome.error.message.b])
    end
  end

  def test_an_item_that_can_not_be_copied_fails_alone
    outcomes = assert_no_leaks do
      Plait.map([1, Thread.current, 3], on: :ractors, limit: 2, on_error: :collect) { |item| item }
    end
    assert_equal([1, nil, 3], outcomes.map(&:value))
    assert_instance_of(Plait::UnshareableError, outcomes[1].error)
    assert_match(/\Aitem 1, a Thread, can't be copied into a ractor: .*Give plain data .* or use on: :threads\.\z/,
                 outcomes[1].error.message)
    assert_equal([Thread.current, 0], [outcomes[1].item, outcomes[1].attempts])
  end

  def test_a_result_that_can_not_be_copied_fails_alone
    outcomes = assert_no_leaks do
      Plait.map([1, 2, 3], on: :ractors, limit: 2, on_error: :collect) { |item| item == 2 ? proc { item } : item }
    end
    assert_equal([1, nil, 3], outcomes.map(&:value))
    assert_match(/\Athe result for item 1, a Proc, can't be copied out of its ractor: .*Return plain data/,
                 outcomes[1].error.message)
  end

  def test_plain_data_is_copied_both_ways
    items = [Point.new(1, [2]), { "a" => :b }, "text".dup, nil]
    results = Plait.map(items, on: :ractors, limit: 2) { |item| item.is_a?(String) ? item << "!" : item }
    assert_equal([items[0], items[1], "text!", nil], results)
    refute_same(items[0].y, results[0].y)
    assert_equal("text", items[2])
  end

  def test_what_is_frozen_is_at_hand
    assert_equal(%w[one two], Plait.map([1, 2], on: :ractors) { |number| FROZEN.fetch(number) })
  end

  def test_retries_that_can_not_be_copied
    retries = Plait::Mechanisms::Retries.new
    retries.instance_variable_set(:@on, [-> { retries }])
    error = assert_raises(Plait::UnshareableError) { Plait.map([1], on: :ractors, retries: retries) { |x| x } }
    assert_match(/`retries:` can't be copied into a ractor: .*Name error classes/, error.message)
  end

  def test_what_only_the_main_ractor_can_begin
    [:fibers, :hybrid, :processes, :ractors, %i[processes threads]].each do |on|
      errors = [Plait.map([on], on: :ractors, on_error: :collect) { |other| Plait.map([1], on: other) { |x| x } },
                Plait.map([on], on: :ractors, on_error: :collect) { |other| Plait.run(on: other) { 1 } }].flatten.map(&:error)
      errors.each do |error|
        assert_instance_of(Plait::UnsupportedError, error, on.inspect)
        assert_match(/can't be used here: the caller is in a ractor, and only the main one may .*; use on: :sequence or/,
                     error.message)
      end
    end
  end

  def test_what_a_ractor_can_begin
    inner = Plait.map(%i[sequence threads], on: :ractors) { |on| Plait.map([1, 2], on: on) { |x| x + 1 } }
    assert_equal([[2, 3]] * 2, inner)
  end

  def test_a_task_of_a_scope
    list = []
    error = assert_raises(Plait::UnshareableError) { Plait.run(on: :ractors) { |scope| scope.async { list << 1 }.value } }
    assert_match(IN_ITEMS, error.message)
  end

  # Whoever writes `on: :ractors` has chosen them; other warnings stay.
  def test_ruby_does_not_call_them_experimental_each_time
    result = Support::FreshRuby.run(<<~RUBY, flags: ["-W"])
      require "plait"
      p Plait.map([1, 2], on: :ractors) { |x| x * 2 }
      p Warning[:experimental]
    RUBY
    assert_equal(["[2, 4]\ntrue\n", ""], [result.out, result.err])
  end

  private

  def refused(&block) = assert_raises(Plait::UnshareableError) { Plait.map([1], on: :ractors, &block) }

  def yielding = Plait.map([1], on: :ractors) { |_| yield }
end
