# frozen_string_literal: true

require_relative "server"

module Support
  # A test that hangs is ended after PLAIT_TEST_TIMEOUT seconds (120), with the backtraces of all threads. It is first
  # asked (an exception in the main thread); when it doesn't answer, the process is ended.
  module HardTimeout
    class Expired < Exception; end # rubocop:disable Lint/InheritException -- a rescue in the code under test must not eat it

    LIMIT = Float(ENV.fetch("PLAIT_TEST_TIMEOUT", "120"))
    GRACE = Float(ENV.fetch("PLAIT_TEST_GRACE", "10"))

    # One thread for the whole run, started before the first test, so that no leak check meets it.
    class Guard
      def initialize
        @lock = Mutex.new
        @changed = ConditionVariable.new
        @current = nil
        @thread = Thread.new { watch }
        @thread.name = "hard timeout of the tests"
        @thread.report_on_exception = true
      end

      def watching(test, limit)
        main = Thread.current
        @lock.synchronize { @current = [test, main, now + limit, limit] }
        @changed.signal
        yield
      ensure
        @lock.synchronize { @current = nil }
      end

      private

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      def watch
        loop do
          current = @lock.synchronize { wait_for_overdue }
          ask_to_end(*current)
          sleep(GRACE)
          end_process if @lock.synchronize { @current.equal?(current) }
        end
      end

      def wait_for_overdue
        loop do
          return @current if @current && @current[2] <= now

          @changed.wait(@lock, @current ? @current[2] - now : nil)
        end
      end

      def ask_to_end(test, main, _at, limit)
        warn("\n#{test} took longer than #{limit} s. All threads and fibers:", backtraces)
        main.raise(Expired, "#{test} took longer than #{limit} s (PLAIT_TEST_TIMEOUT)")
      end

      # Of fibers, too: the one that hangs waits in a loop, of which its thread tells nothing more.
      def backtraces
        [*Thread.list, *(ObjectSpace.each_object(Fiber).select(&:alive?) if RUBY_ENGINE == "ruby")].map do |one|
          ["  #{one.inspect}", *one.backtrace].join("\n    ")
        end
      end

      # at_exit would wait for the test that hangs.
      def end_process
        warn("It did not end within #{GRACE} s of being asked to: ending the process.", backtraces)
        Server.stop_all
        exit!(1)
      end
    end

    GUARD = Guard.new

    # A test may need longer: `def hard_timeout = 300`.
    def hard_timeout = LIMIT

    def run = GUARD.watching("#{self.class}##{name}", hard_timeout) { super }
  end
end
