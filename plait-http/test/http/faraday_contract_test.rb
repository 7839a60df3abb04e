# frozen_string_literal: true

require "test_helper"
require "support/fresh_ruby"

# Faraday's own tests of adapters, which its gem brings, for all features that it knows.
class FaradayContractTest < Minitest::Test
  SPECS = <<~RUBY
    require "rspec/autorun"
    require "webmock/rspec"
    require "faraday"
    require "plait/http/faraday"
    require "plait/http/webmock"

    WebMock.disable_net_connect!(allow_localhost: true)
    support = File.join(Gem.loaded_specs.fetch("faraday").full_gem_path, "spec/support")
    %w[helper_methods disabling_stub streaming_response_checker shared_examples/adapter shared_examples/request_method]
      .each { |name| require File.join(support, name) }

    RSpec.configure { |config| config.include(Faraday::HelperMethods) }
    RSpec.describe(Plait::HTTP.const_get(:Faraday)::Adapter) do
      features :request_body_on_query_methods, :reason_phrase_parse, :compression, :streaming, :parallel, :trace_method,
               :local_socket_binding
      it_behaves_like "an adapter"
    end
  RUBY

  def test_faradays_tests_of_adapters
    skip("faraday, rspec or webmock is missing: bin/setup test drivers") unless %w[faraday rspec webmock].all? { |gem| gem?(gem) }

    result = Support::FreshRuby.run(SPECS)
    assert_match(/^(3[89]\d|[4-9]\d\d) examples, 0 failures$/, result.out, result.err)
  end

  private

  def gem?(name) = Gem.loaded_specs.key?(name)
end
