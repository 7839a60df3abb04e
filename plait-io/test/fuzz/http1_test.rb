# frozen_string_literal: true

require "test_helper"
require "support/sanitized"
require "support/conformance/http1_requests"
require "support/conformance/http1_responses"

# PLAIT_FUZZ_SECONDS=600 goes on for longer, PLAIT_SEED comes to the same inputs again.
class HTTP1FuzzTest < Minitest::Test
  SECONDS = Integer(ENV.fetch("PLAIT_FUZZ_SECONDS", "4"))
  SEED = ENV.fetch("PLAIT_SEED", "1")
  # As in enum http1_role and enum http1_request_kind.
  ROLES = [[0, Conformance::HTTP1_RESPONSES], [1, Conformance::HTTP1_REQUESTS]].freeze
  KINDS = { "HEAD" => 1, "CONNECT" => 2 }.freeze

  def hard_timeout = SECONDS + 120 + Sanitized::BUILDING

  def test_no_input_breaks_the_engine
    Sanitized.build(File.join(__dir__, "http1_fuzz.c"), "http1") do |program|
      corpus = File.join(File.dirname(program), "corpus")
      File.binwrite(corpus, ROLES.map { |role, samples| samples.map { |sample| entry(role, sample) }.join }.join)
      told = Sanitized.run(program, corpus, SEED, SECONDS.to_s)
      assert_operator(told.to_i, :>, 1000, told)
    end
  end

  private

  def entry(role, sample)
    kind = KINDS.fetch(sample.request[:method], 0) | (sample.request[:upgrade] ? 4 : 0)
    "#{role} #{kind} #{sample.bytes.bytesize}\n".b << sample.bytes << "\n"
  end
end
