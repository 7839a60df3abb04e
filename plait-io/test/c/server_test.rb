# frozen_string_literal: true

require "test_helper"
require "support/sanitized"

class ServerEngineTest < Minitest::Test
  def test_the_engine_from_c
    skip("epoll is Linux's") unless RUBY_PLATFORM.include?("linux")

    run_engine(Sanitized::FLAGS)
  end

  def test_threads_of_the_engine_do_not_race
    skip("epoll is Linux's") unless RUBY_PLATFORM.include?("linux")

    run_engine(Sanitized::FLAGS.map { |flag| flag.sub("address,undefined", "thread") })
  end

  private

  def run_engine(flags)
    Sanitized.build(File.join(__dir__, "server_test.c"), "{server,http1}", flags: flags) do |program|
      assert_equal("ok\n", Sanitized.run(program, *disk))
    end
  end

  # A folder that is on no file system in memory, if there is one.
  def disk = [Dir.tmpdir, Support::ROOT].find { |folder| File.writable?(folder) && !%w[tmpfs ramfs].include?(system_of(folder)) }

  def system_of(folder) = IO.popen(["stat", "-f", "-c", "%T", folder], &:read).strip
end
