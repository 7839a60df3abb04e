# frozen_string_literal: true

require "minitest"
require "open3"
require "rbconfig"

module Support
  # Ruby 3.3 lets a thread wait for its turn before the system has given it, and once the system has refused it, all others wait
  # behind it for ever, in any program (https://bugs.ruby-lang.org/issues/20779, mended in Ruby 3.4).
  module RefusedThread
    # Says so when it has gone on after the refusal, and after another chance for threads to run.
    CODE = <<~RUBY
      Process::Sys.setuid(65_534) if Process.uid.zero?
      Process.setrlimit(:NPROC, 1)
      begin
        Thread.new { nil }.join
      rescue ThreadError
        nil
      end
      sleep(0.01)
      $stdout.syswrite("on")
      exit!(0)
    RUBY
    # Until one that hangs is ended.
    SECONDS = 10

    module_function

    # @raise [Minitest::Skip] where Ruby stops for ever when it is refused a thread
    def need_survival
      return if RUBY_ENGINE != "ruby" || RUBY_VERSION < "3.3" || RUBY_VERSION >= "3.4" || survived?

      raise Minitest::Skip, "Ruby #{RUBY_VERSION} stops for ever when it is refused a thread (bug 20779 of Ruby; 3.4 goes on)"
    end

    # @return [Boolean] by trying it, without Plait
    def survived?
      return @survived if defined?(@survived)

      out, = Open3.capture2("timeout", "-s", "KILL", SECONDS.to_s, RbConfig.ruby, "--disable=gems", "-e", CODE)
      @survived = out == "on"
    end
  end
end
