# frozen_string_literal: true

require "test_helper"

module Contracts
  # Every mechanism that is registered keeps the contract: a test in a folder `contracts` of its gem says so.
  class RegistryTest < Minitest::Test
    CONTRACTS = { true => /^ +include JobContract$/, false => /^ +include MechanismContract$/ }.freeze
    TESTS = Dir.glob("plait*/test/contracts/*_test.rb", base: Support::ROOT)
               .to_h { |path| [path, File.read(File.join(Support::ROOT, path))] }.freeze

    Plait::Mechanisms.names_for_jobs.each do |name|
      define_method(:"test_#{name}_has_a_contract_test") do
        jobs_only = !Plait::Mechanisms.names.include?(name)
        kept = TESTS.values.any? { |text| text.match?(CONTRACTS.fetch(jobs_only)) && text.match?(/^ +def on = :#{name}$/) }
        assert(kept, "no plait*/test/contracts/*_test.rb has `def on = :#{name}` and #{CONTRACTS.fetch(jobs_only).source}")
      end
    end

    def test_every_pair_has_one
      pairs = Plait::Mechanisms.find(%i[processes threads]).class::INNER.keys.map { |inner| "%i[processes #{inner}]" }
      missing = pairs.reject { |pair| TESTS.values.any? { |text| text.include?("def on = #{pair}") } }
      assert_empty(missing, "pairs without a contract test")
    end
  end
end
