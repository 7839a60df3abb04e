# frozen_string_literal: true

require "minitest"
require "open3"
require "rbconfig"
require_relative "fresh_ruby"
require_relative "refused_thread"
require_relative "root"

module Support
  # Runs a piece of Ruby where the system gives few processes: as a user of its own, because what others run as the same
  # user counts, and because root has no limit.
  module ProcessLimit
    # What is needed is loaded before: that user may not be allowed to read it.
    PREAMBLE = <<~RUBY
      require "plait"
      require "plait/lab"
      Process::UID.change_privilege(20_000 + (Process.pid % 40_000))
      Process.setrlimit(Process::RLIMIT_NPROC, Integer(ARGV.shift))
      def children = Dir["/proc/self/task/*/children"].flat_map { |path| File.read(path).split }
    RUBY

    # Until one that hangs is ended.
    SECONDS = 60

    module_function

    # @param processes [Integer] and threads of the program, itself among them
    # @param code [String]
    # @return [FreshRuby::Result]
    # @raise [Minitest::Skip] where this user can't become another one, or Ruby does not survive such a limit
    def run(processes, code)
      unless Process.uid.zero? && RUBY_PLATFORM.include?("linux")
        raise Minitest::Skip, "a limit of processes can only be set for a user of its own: run it as root on Linux " \
                              "(sudo bin/test test/mechanisms/processes/refusal_test.rb)"
      end

      RefusedThread.need_survival
      out, err, status = Open3.capture3("timeout", "-k", "1", SECONDS.to_s, RbConfig.ruby, *FLAGS, "-e",
                                        "#{PREAMBLE}\n#{code}", processes.to_s)
      FreshRuby::Result.new(out: out, err: err, status: status)
    end
  end
end
