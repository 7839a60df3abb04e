# frozen_string_literal: true

require "test_helper"
require "support/sanitized"
require_relative "../protocols/resp_samples"

# PLAIT_FUZZ_SECONDS=600 goes on for longer, PLAIT_SEED comes to the same inputs again.
class RESPFuzzTest < Minitest::Test
  SECONDS = Integer(ENV.fetch("PLAIT_FUZZ_SECONDS", "4"))
  SEED = ENV.fetch("PLAIT_SEED", "1")
  SAMPLES = [*RESPSamples::COMMANDS.keys, *RESPSamples::BROKEN_COMMANDS.keys, *RESPSamples::REPLIES,
             *RESPSamples::BROKEN_REPLIES.keys].select { |bytes| bytes.bytesize < 1000 }.freeze

  def hard_timeout = SECONDS + 120 + Sanitized::BUILDING

  def test_no_input_breaks_the_engine
    Sanitized.build(File.join(__dir__, "resp_fuzz.c"), "resp") do |program|
      corpus = File.join(File.dirname(program), "corpus")
      File.binwrite(corpus, SAMPLES.map { |bytes| "0 0 #{bytes.bytesize}\n".b << bytes << "\n" }.join)
      told = Sanitized.run(program, corpus, SEED, SECONDS.to_s)
      assert_operator(told.to_i, :>, 1000, told)
    end
  end
end
