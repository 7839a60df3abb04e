# frozen_string_literal: true

module Plait
  module RPC
    # A lock for what takes microseconds, on threads and in fibers: whoever holds it never waits for anything.
    class Lock
      # A thread or a fiber that sleeps until it is called, or its time is up.
      class Sleeper
        # @return [Boolean] whether it was called
        attr_reader :called
        alias called? called

        # Under the lock: from here on a call is not lost.
        def initialize
          @called = false
          @scheduler = Lock.scheduler
          @scheduler ? @fiber = Fiber.current : @bell = ConditionVariable.new
        end

        # @param mutex [Mutex] of the lock, which it does not hold
        # @param seconds [Numeric, nil] at most
        def sleep(mutex, seconds)
          return (@scheduler.block(self, seconds) unless called?) if @scheduler

          mutex.synchronize { @bell.wait(mutex, seconds) unless called? }
        end

        # Under the lock.
        def call
          return if called?

          @called = true
          @scheduler ? @scheduler.unblock(self, @fiber) : @bell.signal
        end
      end

      # @return [Object, nil] the current fiber's
      def self.scheduler = Fiber.respond_to?(:current_scheduler) ? Fiber.current_scheduler : nil

      def initialize
        @mutex = Mutex.new
      end

      # @return [Object] the block's value
      def exclusively
        @mutex.try_lock || acquire
        begin
          yield
        ensure
          @mutex.unlock
        end
      end

      # @param sleeper [Sleeper] of the current thread or fiber, which does not hold the lock
      # @param seconds [Numeric, nil] at most
      def sleep(sleeper, seconds) = sleeper.sleep(@mutex, seconds)

      private

      # A fiber never sleeps for the lock: before Ruby 3.3 Mutex#unlock can be overtaken inside the scheduler's hook. Another
      # thread holds it, and soon doesn't.
      def acquire
        return @mutex.lock if Lock.scheduler.nil? || @mutex.owned? # by what a signal handler has interrupted: that raises

        Thread.pass until @mutex.try_lock
      end
    end
    private_constant :Lock
  end
end
