# frozen_string_literal: true

require "socket"
require_relative "interrupt"
require_relative "unblock"
require_relative "wait"

module Plait
  class Scheduler
    # The hooks of Fiber::Scheduler that wait for time, for other fibers, threads and processes.
    module ThreadHooks
      # Starts the block at once in a fiber of its own.
      # @return [Fiber]
      def fiber(&block)
        fiber = Fiber.new(blocking: false) { live(block) }
        current = requeue_current
        fiber.transfer
        current&.void
        fiber
      end

      # @param timeout [Float, nil] seconds
      # @return [Boolean] whether it was unblocked, not timed out
      def block(_blocker, timeout = nil)
        fiber = Fiber.current
        park(timeout) { |wait| @blocked[fiber] = wait }
      ensure
        @blocked.delete(fiber)
      end

      # Safe from any thread.
      def unblock(_blocker, fiber)
        return unblocked(fiber) if Thread.current.equal?(thread)

        enter(Unblock.new(fiber))
      end

      # A fiber that isn't blocked (any longer) is left alone: whoever blocks looks at its condition again first.
      # @api private
      def unblocked(fiber) = wake(@blocked[fiber])

      # @param duration [Numeric, nil] seconds; nil: until interrupted
      def kernel_sleep(duration = nil)
        return block(nil) unless duration

        duration.positive? ? park(duration) : self.yield
        true
      end

      # Ruby 4.0: lets the others run first.
      def yield
        park { |wait| wake(wait) }
      end

      # @return [Process::Status]
      def process_wait(pid, flags)
        raise Errno::ESRCH unless pid.positive?

        @selector.process_wait(Fiber.current, pid, flags)
      rescue SystemCallError
        # pidfd_open knows neither process groups nor "any child", and reports other errors than wait(2).
        offload { Process::Status.wait(pid, flags) }
      end

      # @raise [Exception] of the class given, in the block, after `duration` seconds
      def timeout_after(duration, exception = TimeoutError, message = "execution expired")
        timer = Interrupt.new(Fiber.current, exception, message)
        arm(timer, duration)
        yield duration
      ensure
        disarm(timer)
      end

      # getaddrinfo(3) on a thread, so that what the machine is configured for (hosts file, mDNS …) holds.
      # @return [Array<String>] addresses
      def address_resolve(hostname)
        name = hostname.split("%", 2).first
        offload { Addrinfo.getaddrinfo(name, nil, nil, :STREAM).map(&:ip_address).uniq }
      rescue SocketError
        []
      end

      # Ruby 4.0
      def fiber_interrupt(fiber, exception) = interrupt(fiber, exception)

      private

      def requeue_current
        return if Fiber.current.equal?(@loop)

        wait = Wait.new(Fiber.current)
        wake(wait)
        wait
      end

      def live(block)
        @live += 1
        block.call
      rescue Exception => e # rubocop:disable Lint/RescueException -- an error belongs to the loop's caller
        raise if rooted?

        @failure = e
      ensure
        finished
        @loop.transfer unless rooted?
      end
    end
  end
end
