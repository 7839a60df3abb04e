# frozen_string_literal: true

require "test_helper"
require "support/sanitized"

# The engine with Linux's own means, and with what other systems have: kqueue(2), here over epoll(7), and the twins.
class ServerEngineTest < Minitest::Test
  def hard_timeout = super + Sanitized::BUILDING

  LINUX = %w[ACCEPT4 CONST_O_TMPFILE LINUX_MAGIC_H PTHREAD_CONDATTR_SETCLOCK SENDFILE].map { |name| "-DHAVE_#{name}" }.freeze
  ELSEWHERE = ["-DHAVE_PLAIT_KQUEUE", "-I#{File.join(Support::ROOT, "test/support/kqueue")}"].freeze

  def setup
    skip("epoll is Linux's") unless RUBY_PLATFORM.include?("linux")
  end

  def test_the_engine_from_c = run_engine(Sanitized::FLAGS + LINUX)

  def test_the_engine_by_kqueue = run_engine(Sanitized::FLAGS + ELSEWHERE)

  def test_threads_of_the_engine_do_not_race = run_engine(threads(LINUX))

  def test_threads_do_not_race_by_kqueue = run_engine(threads(ELSEWHERE))

  def test_peers_by_kqueue
    flags = Sanitized::FLAGS + ELSEWHERE
    Sanitized.build(File.join(__dir__, "server_peers_test.c"), "{server,http1,tls}", flags: flags) do |program|
      assert_equal("ok\n", Sanitized.run(program))
    end
  end

  private

  def threads(system) = Sanitized::FLAGS.map { |flag| flag.sub("address,undefined", "thread") } + system

  def run_engine(flags)
    Sanitized.build(File.join(__dir__, "server_test.c"), "{server,http1,tls}", flags: flags) do |program|
      assert_equal("ok\n", Sanitized.run(program, *disk))
    end
  end

  # A folder that is on no file system in memory, if there is one.
  def disk = [Dir.tmpdir, Support::ROOT].find { |folder| File.writable?(folder) && !%w[tmpfs ramfs].include?(system_of(folder)) }

  def system_of(folder) = IO.popen(["stat", "-f", "-c", "%T", folder], &:read).strip
end
