# frozen_string_literal: true

module Plait
  module Patches
    # Of Thread::Mutex and Thread::ConditionVariable.
    module MutexPatches
      def self.install = [MutexSleep, ConditionWait].each(&:install)

      # A fiber that is interrupted in Mutex#sleep leaves it without the mutex, and `synchronize` then hides the interruption
      # behind a ThreadError. Ruby 3.1 does not lock it again, later ones stop trying at a further interruption.
      module MutexSleep
        class << self
          def install
            Mutex.prepend(self)
            @installed = true
          end

          # @return [Boolean] whether Kernel#sleep alone asks the scheduler for kernel_sleep
          def installed? = @installed || false

          # @param blocker [Object] named by what wakes the fiber
          # @return [Integer, nil] as Mutex#sleep
          def in_fiber(scheduler, mutex, timeout, blocker = mutex)
            started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
            woken = scheduler.sleep_unlocked(mutex, timeout, blocker)
            (Process.clock_gettime(Process::CLOCK_MONOTONIC) - started).round if woken
          end
        end

        def sleep(timeout = nil) = (scheduler = Patches.scheduler) ? MutexSleep.in_fiber(scheduler, self, timeout) : super

        Gate.before(self, :sleep)
      end

      # A fiber that leaves by an exception may be the one a signal has chosen; then the others would wait without end. Ruby
      # tells the scheduler about the mutex only.
      module ConditionWait
        def self.install = ConditionVariable.prepend(self)

        # From Ruby 4.0 on ConditionVariable#wait does not call the method of a Mutex, but that of any other object.
        def self.callable(mutex, scheduler)
          RUBY_VERSION >= "4.0" && mutex.instance_of?(Mutex) ? Sleeper.new(mutex, scheduler) : mutex
        end

        def wait(mutex, timeout = nil)
          return super unless (scheduler = Patches.scheduler)

          begin
            super(ConditionWait.callable(mutex, scheduler), timeout)
          rescue Exception
            signal
            raise
          end
        end

        Gate.before(self, :wait)
      end

      # What ConditionVariable#wait asks to sleep, in place of a Mutex.
      class Sleeper
        def initialize(mutex, scheduler)
          @mutex = mutex
          @scheduler = scheduler
        end

        def sleep(timeout) = MutexSleep.in_fiber(@scheduler, @mutex, timeout, self)
      end

      private_constant :ConditionWait, :Sleeper
    end
  end
end
