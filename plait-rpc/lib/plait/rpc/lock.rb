# frozen_string_literal: true

module Plait
  module RPC
    # Holds interrupts back while state moves between two places. A literal would make a Hash at each call, and Ruby looks for
    # interrupts there.
    NEVER = { Object => :never }.freeze

    # A lock for steps of microseconds, for threads and fibers. Its holder never waits.
    class Lock
      # A thread or fiber that sleeps until it is called or its time is up.
      class Sleeper
        def called? = @called || false

        # Under the lock: no call from here on is lost.
        def lie_down
          @called = false
          @scheduler = Lock.scheduler
          @scheduler ? @fiber = Fiber.current : @changed ||= ConditionVariable.new
          self
        end

        # @param mutex [Mutex] of the lock, which the sleeper does not hold
        # @param seconds [Numeric, nil] at most
        def sleep(mutex, seconds)
          return (@scheduler.block(self, seconds) unless @called) if @scheduler

          mutex.synchronize { @changed.wait(mutex, seconds) unless @called }
        end

        # Under the lock.
        def call
          return if @called

          @called = true
          @scheduler ? @scheduler.unblock(self, @fiber) : @changed.signal
        end
      end

      # @return [Object, nil] the current fiber's
      def self.scheduler = Fiber.respond_to?(:current_scheduler) ? Fiber.current_scheduler : nil

      # @return [Mutex] for C
      attr_reader :mutex

      def initialize
        @mutex = Mutex.new
      end

      # An exception of another thread may come between any two calls here, behind `try_lock` too.
      # @return [Object] the block's value
      def exclusively
        @mutex.try_lock || Uninterruptible.acquire(@mutex, below = @mutex.owned?)
        value = yield
        done = true
        value
      ensure
        done ? @mutex.unlock : (release unless below)
      end

      # Not under the lock: sleeps until the sleeper is called, or for so many seconds.
      def sleep(sleeper, seconds) = sleeper.sleep(@mutex, seconds)

      private

      # The block was left early, or not reached.
      def release = Thread.handle_interrupt(NEVER) { @mutex.unlock if @mutex.owned? }
    end
    private_constant :NEVER, :Lock
  end
end
