# frozen_string_literal: true

require "socket"
require_relative "../patches"
require_relative "wait"

module Plait
  class Scheduler
    # The hooks of Fiber::Scheduler that wait for time, for other fibers, threads and processes.
    module ThreadHooks
      # Starts the block at once in a fiber of its own.
      def fiber(&block)
        fiber = Fiber.new(blocking: false) { live(block) }
        current = requeue_current
        fiber.transfer
        fiber
      ensure
        current&.void
      end

      # @param timeout [Float, nil] seconds
      # @return [Boolean] whether it was unblocked, not timed out
      def block(blocker, timeout = nil)
        wait = Blocked.new(Fiber.current, blocker)
        @blocked[wait.fiber] = wait
        arm(wait, timeout) if timeout
        suspend
        wait.woken?
      rescue Exception # rubocop:disable Lint/RescueException -- a cancelled fiber must not keep its wake-up
        pass_on(blocker) if wait&.woken?
        raise
      ensure
        leave(wait) if wait
      end

      # Safe from any thread. Ruby 3.3.8 calls it in a thread whose IO was closed, before it raises there: the branch of an `if`
      # would raise, and the close wait without an end (not in 3.3.11).
      def unblock(blocker, fiber) = Uninterruptible.run { unblock_now(blocker, fiber) }

      # @api private
      def unblocked(blocker, fiber)
        wait = @blocked[fiber]
        wait&.answers?(blocker) ? wake(wait) : pass_on(blocker)
      end

      # @return [Boolean] whether this is the fiber that turns the loop
      # @api private
      def home? = Fiber.current.equal?(@loop)

      # @return [Boolean] whether the fiber is about to go on
      # @api private
      def woken?(fiber) = @blocked[fiber]&.woken?

      # Stands for no end. Before Ruby 3.3 `sleep(nil)` is an error.
      FOREVER = RUBY_VERSION < "3.3" ? Object.new.freeze : nil
      private_constant :FOREVER

      # @param duration [Numeric] seconds; none: until interrupted
      # @raise [ArgumentError, TypeError] as Kernel#sleep
      def kernel_sleep(duration = FOREVER)
        return block(nil) if duration.equal?(FOREVER) || (duration.nil? && !Patches.mutex_sleep?) # of Mutex#sleep, unpatched

        check_interval(duration)
        if duration.zero? then self.yield
        elsif Patches.mutex_sleep? then park(duration)
        else block(nil, duration) # of Mutex#sleep, maybe, and then to be unblocked
        end
        true
      end

      # Does the work of Mutex#sleep.
      # @param blocker [Object] named by what unblocks the fiber
      # @return [Boolean] whether it was unblocked, not timed out
      # @api private
      def sleep_unlocked(mutex, timeout, blocker = mutex)
        check_interval(timeout) if timeout
        mutex.unlock
        begin
          block(blocker, timeout)
        ensure
          lock_again(mutex)
        end
      end

      # Ruby 4.0: lets the others run first.
      def yield = park { |wait| wake(wait) }

      def process_wait(pid, flags)
        now = Process::Status.wait(pid, flags | Process::WNOHANG)
        return now if now # it has ended, or is no child of ours, which pidfd_open(2) would not tell
        # It knows neither process groups, nor "any child", nor children that were stopped.
        return offload { Process::Status.wait(pid, flags) } unless pid.positive? && flags.zero?

        @ticks += 1
        @selector.process_wait(Fiber.current, pid, flags)
      rescue Errno::ENOSYS, Errno::EPERM, Errno::EINVAL, # a kernel before Linux 5.3, or a filter of system calls
             Errno::EMFILE, Errno::ENFILE, Errno::ENOMEM # no descriptor is left
        offload { Process::Status.wait(pid, flags) }
      end

      # @raise [Exception] of the class given, in the block, after `duration` seconds
      def timeout_after(duration, exception = TimeoutError, message = "execution expired")
        timer = Interrupt.new(Fiber.current, exception, message)
        arm(timer, duration)
        yield duration
      ensure
        disarm(timer) if timer
      end

      # getaddrinfo(3) on a thread, so that the machine's configuration (hosts file, mDNS …) counts.
      # @return [Array<String>] addresses
      def address_resolve(hostname)
        name = hostname.split("%", 2).first
        offload { Addrinfo.getaddrinfo(name, nil, nil, :STREAM).map(&:ip_address).uniq }
      rescue SocketError
        []
      end

      private

      def unblock_now(blocker, fiber)
        return unblocked(blocker, fiber) if Thread.current.equal?(thread)
        return thread.wakeup if fiber.equal?(@loop) # Ruby 4.0, of a close outside of the fibers: no hook has been asked

        enter(Unblock.new(blocker, fiber))
      end

      # The hook `fiber_interrupt` of Ruby 4.0 is not here: with it Ruby lists at an IO the fibers that wait for it, and
      # IO#close waits until they have left. So a close outside of the fibers hangs. One that is cancelled leaves the IO half
      # closed, and what waits for it hangs. A fiber that never goes on ends the VM with the next close. Our patch of
      # IO#close needs no such list. Ruby asks for the hook at each wait, and in Fiber.set_scheduler, where it would warn.
      if RUBY_VERSION >= "4.0"
        def respond_to_missing?(name, all) = (name == :fiber_interrupt && !Fiber.scheduler.equal?(self)) || super
      end

      # Kernel#sleep leaves the check of its argument to the scheduler.
      def check_interval(seconds)
        raise TypeError, "can't convert #{seconds.class} into time interval" unless seconds.respond_to?(:divmod)
        raise ArgumentError, "time interval must not be negative" if seconds.negative?
      end

      def leave(wait)
        fiber = wait.fiber
        @blocked.delete(fiber) if fiber
        disarm(wait)
      end

      # A wake-up that came too late for its fiber was meant for a fiber that waits for the same: a mutex that was
      # unlocked, an entry in a queue. They look again, and at worst wait on.
      def pass_on(blocker)
        case blocker
        when Mutex then blocker.unlock if blocker.try_lock # picks the next one, wherever it waits
        when Queue, SizedQueue
          @blocked.each_value { |wait| wake(wait) if wait.blocker.equal?(blocker) }
        end
      end

      # A fiber that holds a mutex in Mutex#sleep holds it again afterwards, also when it was interrupted in between.
      def lock_again(mutex)
        mutex.lock unless mutex.owned?
      rescue Exception => e # rubocop:disable Lint/RescueException -- raised as soon as it is locked
        interrupted = e
        retry
      ensure
        raise interrupted if interrupted
      end

      def requeue_current
        return if home?

        wait = Wait.new(Fiber.current)
        wake(wait)
        wait
      end

      def live(block)
        @live += 1
        @fibers[Fiber.current] = true
        block.call
      rescue Exception => e # rubocop:disable Lint/RescueException -- an error belongs to the loop's caller
        failed(e)
      ensure
        @fibers.delete(Fiber.current)
        finished
        @loop.transfer unless rooted?
      end
    end
    private_constant :ThreadHooks
  end
end
