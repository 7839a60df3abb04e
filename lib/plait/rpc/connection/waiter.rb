# frozen_string_literal: true

require_relative "../../values/deadline"

module Plait
  module RPC
    class Connection
      # A thread or a fiber that waits for something on a connection. Whoever wakes it holds the connection's lock; so does
      # whoever looks whether it has what it waits for.
      class Waiter
        # @return [Float, nil] monotonic seconds
        attr_reader :limit
        # @return [Future, nil]
        attr_reader :future

        # @param limit [Float, nil] monotonic seconds until which it waits
        # @param future [Future, nil] that it waits for
        # @yieldreturn [Boolean] without a future: whether it has what it waits for
        def initialize(limit, future = nil, &satisfied)
          @limit = limit
          @future = future
          @satisfied = satisfied
          @left = false
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
        # @param lock [Mutex] the connection's, which it does not hold
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
