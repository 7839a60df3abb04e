# frozen_string_literal: true

require_relative "../lock"
require "plait/values/deadline"

module Plait
  module RPC
    class PureLine
      # A thread or a fiber that stays on a line until it has what it wants. Whoever wakes it, or looks whether it has that,
      # holds the line's lock.
      class Member
        # @return [Float, nil] monotonic seconds
        attr_reader :limit
        # @return [Future, nil]
        attr_reader :future

        # @param limit [Float, nil] monotonic seconds until which it stays
        # @param future [Future, nil] that it waits for
        # @yieldreturn [Boolean] without a future: whether it has what it wants
        def initialize(limit, future = nil, &satisfied)
          @limit = limit
          @future = future
          @satisfied = satisfied
          @left = false
          @thread = Thread.current
          @home = Fiber.current
        end

        # @return [Boolean] whether it goes on only when what runs now is over: it is on the same thread, below a signal handler,
        #   or in a fiber whose loop is kept from running
        def below?
          @thread.equal?(Thread.current) && (@home.equal?(Fiber.current) || Lock.scheduler.nil?)
        end

        # @return [Boolean]
        def satisfied? = @future ? @future.settled? : @satisfied.call

        # @return [Boolean]
        def late? = !@limit.nil? && Deadline.now >= @limit

        # @return [Boolean] whether it has given back all that it held
        def left? = @left

        # @return [true]
        def leave = @left = true

        # Before it is found by others: a wake-up that comes from here on is not lost.
        # @return [void]
        def lie_down
          @woken = false
          @scheduler = Fiber.current_scheduler if Fiber.respond_to?(:current_scheduler)
          @scheduler ? @fiber = Fiber.current : @bell ||= ConditionVariable.new
        end

        # Sleeps until it is woken, or its time is up. A fiber waits by its scheduler alone, never for the lock.
        # @param lock [Mutex] the line's, which it does not hold
        # @return [void]
        def sleep(lock)
          return (@scheduler.block(self, seconds) unless @woken) if @scheduler

          lock.synchronize { @bell.wait(lock, seconds) unless @woken }
        end

        # @return [void]
        def wake
          return if @woken

          @woken = true
          @scheduler ? @scheduler.unblock(self, @fiber) : @bell.signal
        end

        private

        def seconds = @limit && [@limit - Deadline.now, 0].max
      end
    end
  end
end
