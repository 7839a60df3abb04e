# frozen_string_literal: true

module Plait
  module Mechanisms
    module Compat
      # Ruby 3.1: a fiber that is interrupted in ConditionVariable#wait leaves it without the mutex, and `synchronize`
      # then hides the interruption behind a ThreadError.
      module MutexSleep
        def self.install
          @installed ||= Mutex.instance_method(:sleep).source_location.nil?
          Mutex.prepend(self) if @installed
        end

        # Where Ruby's own is written in Ruby it does it right, and ConditionVariable#wait no longer asks for the method.
        def self.installed? = @installed

        def sleep(timeout = nil)
          scheduler = Compat.scheduler
          return super unless scheduler

          started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
          woken = scheduler.sleep_unlocked(self, timeout)
          (Process.clock_gettime(Process::CLOCK_MONOTONIC) - started).round if woken
        end
      end
    end
  end
end
