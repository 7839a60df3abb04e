# frozen_string_literal: true

require_relative "../test_helper"
require_relative "signatures"

# That the comparison of signatures and code can fail: on a small sample.
class SupportSignaturesTest < Minitest::Test
  CODE = <<~RUBY
    module SignaturesSample
      class Tool
        attr_reader :name

        def initialize(name, size: 1) = (@name = name)

        def self.find(name) = name

        def use(item, *others, hard: false, **rest) = item

        # @api private
        def internal = nil

        private

        def hidden = nil
      end
    end
  RUBY
  TRUTH = {
    name: "attr_reader name: String", initialize: "def initialize: (String name, ?size: Integer) -> void",
    find: "def self.find: (String name) -> String",
    use: "def use: [T] (T item, *untyped others, ?hard: bool, ?soft: bool) -> T"
  }.freeze

  def test_the_truth
    with_signatures(TRUTH) { |tool| assert_equal([[], [], []], complaints(tool)) }
  end

  def test_a_method_that_is_not_signed
    TRUTH.each_key do |key|
      with_signatures(TRUTH.except(key)) { |tool| assert_match(/\A[#.]#{key}\z/, tool.missing_methods.join) }
    end
  end

  def test_a_signature_without_a_method
    with_signatures(TRUTH.merge(a: "def gone: () -> void", b: "def hidden: () -> void")) do |tool|
      assert_equal(%w[#gone #hidden], tool.invented_methods)
    end
  end

  def test_parameters_that_differ
    ["(String name) -> void", "() -> void", "(String name, Integer other) -> void",
     "(String name, ?size: Integer, ?color: String) -> void"].each do |type|
      with_signatures(TRUTH.merge(initialize: "def initialize: #{type}")) do |tool|
        assert_match(/Tool#initialize: code \[/, tool.differing_parameters.join, type)
      end
    end
  end

  def test_constants
    Dir.mktmpdir("plait-test-") do |folder|
      File.write(File.join(folder, "a.rbs"), "module Sample\n  LIMIT: Integer\nend")
      assert_equal(%w[Sample Sample::LIMIT], Support::Signatures.read(folder).constants)
    end
  end

  private

  def complaints(tool) = [tool.missing_methods, tool.invented_methods, tool.differing_parameters]

  def with_signatures(members)
    Dir.mktmpdir("plait-test-") do |folder|
      File.write(File.join(folder, "sample.rb"), CODE)
      File.write(File.join(folder, "a.rbs"), <<~RBS)
        module SignaturesSample
          class Tool
            #{members.values.join("\n")}
          end
        end
      RBS
      load(File.join(folder, "sample.rb")) unless defined?(SignaturesSample)
      yield(Support::Signatures.read(folder).modules(folder).find { |mod| mod.name.end_with?("Tool") })
    end
  end
end
