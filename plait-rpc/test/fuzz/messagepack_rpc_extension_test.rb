# frozen_string_literal: true

require "test_helper"
require "support/sanitized_extension"

# What lies between Ruby and the engine, in C. PLAIT_FUZZ_SECONDS and PLAIT_SEED as everywhere here.
class MessagePackRPCExtensionFuzzTest < Minitest::Test
  SECONDS = Integer(ENV.fetch("PLAIT_FUZZ_SECONDS", "8"))
  SEED = ENV.fetch("PLAIT_SEED", "1")

  def hard_timeout = SECONDS + 240

  def test_no_peer_breaks_the_extension
    SanitizedExtension.build("rb_rpc_*.c", "rb_messagepack_rpc*.c", "messagepack_rpc*.c") do |folder|
      told = SanitizedExtension.run(folder, File.join(__dir__, "messagepack_rpc_extension.rb"), SECONDS.to_s, SEED)
      assert_operator(told.to_i, :>, 50, told)
    end
  end
end
