# frozen_string_literal: true

require_relative "../patches"

module Plait
  class Scheduler
    # How the loop ends: when all its fibers have, or by cancelling them.
    module Ending
      # Seconds that cancelled fibers have for their `ensure` parts before they are abandoned.
      GRACE = 2.0

      # Ends the loop: runs the rest, then frees the descriptors and threads. Ruby calls it when the thread ends, and in
      # `Fiber.set_scheduler(nil)`.
      #
      # When an error is under way (also `exit` and signals), or comes up meanwhile, what is left is cancelled: it might wait
      # without end. What has broken out of the loop before (an interrupt of its thread) may have taken a fiber or a job with it,
      # which would be waited for: the others then have {GRACE} seconds.
      # @param error [Exception, nil] the one under way
      def close(error = $!) # rubocop:disable Style/SpecialGlobalVars -- the library English is not loaded
        return if closed? || abandoned?

        (@torn ? run_out : run) unless error || killed?
      ensure
        stop
      end
      alias scheduler_close close

      # Cancels the rest, waits for that no longer than {GRACE}, and frees the descriptors and threads.
      # @api private
      def stop
        cancel_all unless closed? || idle?
      ensure
        release
      end

      # Cancels the fibers that Fiber.schedule has started, and does not wait for their ends. The loop is about to end.
      # @api private
      def cancel_scheduled
        @ending = true
        others = @fibers.keys - [Fiber.current]
        others.each { |fiber| interrupt(fiber, Mechanisms::Interruption, "its event loop ends") }
      end

      def closed? = @selector.nil?

      # Gives up without running anything: the child of a fork must not run its parent's fibers.
      # @api private
      def abandon
        @abandoned = true
        release
      end

      def abandoned? = @abandoned

      private

      # @return [Boolean] whether the current thread is in its last `ensure` parts
      def killed? = Thread.current.status == "aborting"

      def run_out
        limit = Deadline.now + GRACE
        run_until(GRACE) { idle? || Deadline.now > limit }
      end

      # First the fibers, which end the jobs that they wait for.
      def cancel_all
        @ending = true
        @failure = nil
        limit = Deadline.now + GRACE
        cancel_each(@fibers.keys) { |fiber| @fibers.key?(fiber) }
        run_until(GRACE) { @fibers.empty? || Deadline.now > limit }
        cancel_each(@strands.busy) { |fiber| @strands.busy?(fiber) }
        run_until(GRACE) { @strands.over? || Deadline.now > limit }
      end

      # @yieldreturn [Boolean] whether it still has something to do
      def cancel_each(fibers)
        fibers.each { |fiber| interrupt(fiber, Mechanisms::Interruption, "its event loop ends") { yield fiber } }
      end

      # A fiber has ended by an error.
      def failed(error)
        raise error if rooted? && !@ending

        @ending ? complain(error) : @failure = error
      end

      # The error that ends the loop is the one to be raised.
      def complain(error)
        return if error.is_a?(Mechanisms::Interruption)

        warn "plait: a fiber that was cancelled with its event loop raised #{error.class}: #{error.message}"
      end

      def release
        selector = @selector
        return unless selector

        @selector = nil
        settle unless @raised.empty?
        @watchdog&.stop
        @strands.close(finish: rooted? && Fiber.current.equal?(@loop))
        @offload_pool&.close
        selector.close
        @thread.instance_variable_set(:@plait_loop, nil) if equal?(Scheduler.of(@thread))
        Patches::IOPatches::Loops.forget
      end
    end
    private_constant :Ending
  end
end
