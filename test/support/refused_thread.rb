# frozen_string_literal: true

require "minitest"
require "open3"
require "rbconfig"

module Support
  # What Ruby itself does not survive where the system gives no further thread or process, tried without Plait.
  module RefusedThread
    # Ruby 3.3 lets a thread wait for its turn before the system has given it, and once the system has refused it, all others wait
    # behind it without end, in any program (https://bugs.ruby-lang.org/issues/20779, mended in Ruby 3.4). This code goes on after
    # the refusal, and after another chance for threads to run.
    THREAD = <<~RUBY
      Process.setrlimit(:NPROC, 1)
      begin
        Thread.new { nil }.join
      rescue ThreadError
        nil
      end
      sleep(0.01)
    RUBY

    # From Ruby 3.3 on, a fork ends the thread that gives all others their turns, and afterwards starts another one. Where
    # the child has the last place, that fails unnoticed (rb_thread_create_timer_thread in thread_pthread.c of 4.0.5), and
    # the next fork waits for that thread without end.
    FORK = <<~RUBY
      Process.setrlimit(:NPROC, Dir.children("/proc/self/task").size)
      children = []
      begin
        2.times { children << fork { sleep } }
      rescue SystemCallError
        nil
      end
      children.each { |pid| Process.kill(:KILL, pid) }
    RUBY

    FRAME = <<~RUBY
      Process::Sys.setuid(20_000 + (Process.pid %% 40_000)) if Process.uid.zero?
      %s
      $stdout.syswrite("on")
      exit!(0)
    RUBY
    # Until one that hangs is ended.
    SECONDS = 10

    module_function

    # @raise [Minitest::Skip] where Ruby stops for ever when it is refused a thread
    def need_survival
      return if RUBY_ENGINE != "ruby" || RUBY_VERSION < "3.3" || RUBY_VERSION >= "3.4" || survived?(THREAD)

      raise Minitest::Skip, "Ruby #{RUBY_VERSION} stops for ever when it is refused a thread (bug 20779 of Ruby; 3.4 goes on)"
    end

    # @raise [Minitest::Skip] where Ruby hangs after a fork that got the last place
    def need_survival_of_forks
      return if RUBY_ENGINE != "ruby" || RUBY_VERSION < "3.3" || survived?(FORK)

      raise Minitest::Skip, "Ruby #{RUBY_VERSION} hangs at the second fork where the system gives only one more process"
    end

    # @param code [String]
    # @return [Boolean]
    def survived?(code)
      @survived ||= {}
      @survived.fetch(code) do
        out, = Open3.capture2("timeout", "-s", "KILL", SECONDS.to_s, RbConfig.ruby, "--disable=gems", "-e", format(FRAME, code))
        @survived[code] = out == "on"
      end
    end
  end
end
