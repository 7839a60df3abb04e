# frozen_string_literal: true

require "test_helper"
require "support/root"
require "open3"
require "rbconfig"
require "tmpdir"

class AdviseInterruptedTest < Minitest::Test
  def test_ctrl_c_shows_what_was_learned
    Dir.mktmpdir("plait-test-") do |folder|
      file = File.join(folder, "work.rb")
      File.write(file, "items { (1..40).to_a }\nbody { |n| sleep(0.01); n }\n")
      command = [RbConfig.ruby, *Support::LIBS.map { |lib| "-I#{lib}" }, File.join(Support::ROOT, "plait/exe/plait")]
      Open3.popen3(*command, "advise", file, "--on", "sequence,threads", "--budget", "60") do |_, out, err, process|
        nil until err.gets.to_s.include?("each once")
        Process.kill(:INT, process.pid)
        text = out.read
        assert_match(/^(no answer: interrupted before all mechanisms were tried|How sure: .*interrupted\.)$/, text, err.read)
        assert_match(/an item takes \d/, text)
        assert_equal(130, process.value.exitstatus)
      end
    end
  end
end
