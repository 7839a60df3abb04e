# frozen_string_literal: true

require "test_helper"
require "support/sanitized"
require_relative "../protocols/messagepack_rpc/samples"

# PLAIT_FUZZ_SECONDS=600 goes on for longer, PLAIT_SEED comes to the same inputs again.
class MessagePackRPCFuzzTest < Minitest::Test
  SECONDS = Integer(ENV.fetch("PLAIT_FUZZ_SECONDS", "4"))
  SEED = ENV.fetch("PLAIT_SEED", "1")

  def hard_timeout = SECONDS + 120 + Sanitized::BUILDING

  def test_no_input_breaks_the_engine
    Sanitized.build(File.join(__dir__, "messagepack_rpc_fuzz.c"), "messagepack_rpc") do |program|
      corpus = File.join(File.dirname(program), "corpus")
      File.binwrite(corpus, (Samples::GOOD + Samples::BAD).map { |sample| entry(sample.bytes) }.join)
      told = Sanitized.run(program, corpus, SEED, SECONDS.to_s)
      assert_operator(told.to_i, :>, 1000, told)
    end
  end

  private

  def entry(bytes) = "0 0 #{bytes.bytesize}\n".b << bytes << "\n"
end
