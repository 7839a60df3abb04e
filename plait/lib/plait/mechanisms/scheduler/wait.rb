# frozen_string_literal: true

require_relative "../patches"

module Plait
  class Scheduler
    # One wait of one fiber. Its first end (an event, a timer, a cancellation) voids it, so that nothing that
    # comes later can wake the fiber out of some other wait.
    class Wait
      # @return [Fiber, nil] nil once the wait is over
      attr_reader :fiber
      # @return [Float, nil] monotonic seconds at which its timer fires
      attr_accessor :at

      def initialize(fiber, at = nil)
        @fiber = fiber
        @at = at
        @woken = false
      end

      # @return [Boolean] whether it ended by being woken, not by its timer
      def woken? = @woken

      # @return [Boolean] whether this call was the one that woke it
      def wake = @fiber && !@woken ? @woken = true : false

      def void = @fiber = nil

      # The scheduler's loop hands over to the fiber.
      def dispatch(_scheduler) = @fiber&.transfer

      # Its timer fired.
      def fire(scheduler) = @fiber && !@woken && scheduler.ready(self)
    end

    # The wait of a fiber that another fiber or a thread has to unblock.
    class Blocked < Wait
      # @return [Object, nil] that has to wake it
      attr_reader :blocker

      def initialize(fiber, blocker)
        super(fiber)
        @blocker = blocker
      end

      # Another thread's wake-up can arrive when its fiber, cancelled meanwhile, already waits for something else. For
      # Thread#join Ruby does not name the same thread to both hooks. On Ruby 3.3 and 3.4 a join that is woken before its
      # thread has ended returns nil.
      # @return [Boolean] whether a wake-up by this blocker is meant for this wait
      def answers?(blocker)
        return true if @blocker.equal?(blocker) || @blocker.nil?

        @blocker.is_a?(Thread) && blocker.is_a?(Thread) && !@blocker.alive?
      end
    end

    # Another thread's wake-up of a fiber.
    class Unblock
      def initialize(blocker, fiber)
        @blocker = blocker
        @fiber = fiber
      end

      def dispatch(scheduler) = scheduler.unblocked(@blocker, @fiber)
    end

    # Something that the loop does between two fibers.
    class Errand
      def initialize(work)
        @work = work
      end

      def dispatch(_scheduler) = @work.call
    end

    # A block that the loop itself calls at a time; see {Waiting#after}.
    class Alarm
      # @return [Float, nil] monotonic seconds
      attr_accessor :at
      # @return [Proc, nil] nil once it has rung or was cancelled, as for a timer of a fiber
      attr_reader :fiber

      def initialize(scheduler, block)
        @scheduler = scheduler
        @fiber = block
      end

      def cancel = @scheduler.disarm(self)

      def void = @fiber = nil

      def fire(_scheduler)
        block = @fiber
        @fiber = nil
        block&.call
      end
    end

    # An exception on its way to a fiber. The loop delivers it, so that it arrives where the fiber waits.
    class Interrupt
      # A fiber that runs another one inside itself (an Enumerator, say) can't be raised into until that one is done.
      RETRY_AFTER = 0.01

      # @return [Fiber, nil] nil once it was delivered or withdrawn
      attr_reader :fiber
      # @return [Float, nil] monotonic seconds, for one that is a timer
      attr_accessor :at

      # @yieldreturn [Boolean] whether it still concerns the fiber, asked at the last moment
      def initialize(fiber, exception, message = nil, &valid)
        @fiber = fiber
        @arguments = [exception, message].compact
        @valid = valid
      end

      def void = @fiber = nil

      def fire(scheduler) = @fiber && scheduler.ready(self)

      def dispatch(scheduler)
        return unless @fiber&.alive?
        return scheduler.ready(self) if outrun?(scheduler)

        deliver(scheduler) if @valid.nil? || @valid.call
      end

      private

      # A wake-up that came first wins, once: its cause (an entry in a queue, a mutex) would else be lost.
      def outrun?(scheduler) = !@outrun && (@outrun = scheduler.woken?(@fiber))

      def deliver(scheduler)
        fiber = @fiber
        @fiber = nil
        Patches.innermost(fiber).raise(*@arguments)
      rescue FiberError => e
        raise unless fiber.alive? && refused?(e)

        @fiber = fiber
        scheduler.arm(self, RETRY_AFTER)
      end

      # @return [Boolean] whether the error is of Fiber#raise above, and not one that the fiber has died of
      def refused?(error) = error.backtrace_locations&.first&.path == __FILE__
    end

    private_constant :Wait, :Blocked, :Unblock, :Errand, :Interrupt
  end
end
