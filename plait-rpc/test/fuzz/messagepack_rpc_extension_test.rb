# frozen_string_literal: true

require "test_helper"
require "support/sanitized_extension"

# What lies between Ruby and the engine, in C. PLAIT_FUZZ_SECONDS and PLAIT_SEED as everywhere here.
class MessagePackRPCExtensionFuzzTest < Minitest::Test
  SECONDS = Integer(ENV.fetch("PLAIT_FUZZ_SECONDS", "4"))
  # Conversations, with one under GC.stress and one after GC.compact.
  LEAST = 51
  SEED = ENV.fetch("PLAIT_SEED", "1")

  def hard_timeout = SECONDS + 240 + Sanitized::BUILDING

  def test_no_peer_breaks_the_extension
    SanitizedExtension.build("rb_rpc_*.c", "rb_messagepack_rpc*.c", "messagepack_rpc*.c") do |folder|
      told = SanitizedExtension.run(folder, File.join(__dir__, "messagepack_rpc_extension.rb"), SECONDS.to_s, SEED, LEAST.to_s)
      assert_operator(told[/^\d+$/].to_i, :>=, LEAST, told) # ASan may warn before, of the stacks of Ruby 3.3
    end
  end
end
