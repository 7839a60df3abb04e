# frozen_string_literal: true

require "rbconfig"

module Plait
  class Scheduler
    # Notices that a fiber keeps the loop from turning, and finds out where: a thread of its own looks at the loop's
    # thread a few times in each threshold. A call that keeps the GVL is seen when it lets go, with its backtrace still in
    # place, or at the latest when its fiber next waits.
    #
    # Other delays of the loop's thread (an overloaded machine, other threads that compute) look the
    # same from here.
    class Watchdog
      # One call that blocked the loop.
      # @!attribute seconds
      #   @return [Float] how long the loop stood still, at least
      # @!attribute backtrace
      #   @return [Array<String>] of the call
      Report = Struct.new(:seconds, :backtrace, keyword_init: true) do
        # @return [String, nil] the innermost line that is not part of Ruby's own libraries or of Plait
        def location = backtrace.find { |line| Watchdog.users?(line) }

        def to_s
          "the event loop was blocked for #{format("%.3f", seconds)} s at #{location || "an unknown place"}; " \
            "wrap the call in Plait.offload { }, or use on: :threads\n\t#{backtrace.first(12).join("\n\t")}"
        end
      end

      LOOKS_A_THRESHOLD = 4
      KEPT = 100
      # Seconds between two looks at most: the argument of `sleep` is bounded.
      LONGEST_PAUSE = 3_600
      RUBYS = ["<internal:", "#{RbConfig::CONFIG["rubylibdir"]}/"].freeze
      private_constant :RUBYS

      # @param action [nil, :warn, :raise, :record, #call] a callable is given the {Report}, on the thread of the loop or on
      #   another; its errors become warnings
      # @param threshold [Numeric] seconds
      # @return [Watchdog, nil]
      def self.for(scheduler, action, threshold) = (new(scheduler, action, threshold).tap { scheduler.extend(Watched) } if action)

      # Asked before anything is made that an error would leave behind.
      # @raise [UsageError]
      def self.check(action, threshold)
        return unless action

        unless action.respond_to?(:call) || %i[warn raise record].include?(action)
          raise UsageError, "blocking: must be :warn, :raise, :record, a callable or nil, not #{action.inspect}"
        end
        return if threshold.is_a?(Numeric) && threshold.real? && threshold.positive? && threshold.finite?

        raise UsageError, "threshold: must be seconds above 0, not #{threshold.inspect}"
      end

      # @param line [String] of a backtrace
      # @return [Boolean] whether it is neither in Ruby's own libraries nor in Plait
      # @api private
      def self.users?(line) = !line.start_with?(*RUBYS) && !OwnCode.file?(line)

      # @return [Array<Report>] the last {KEPT}
      attr_reader :reports

      def initialize(scheduler, action, threshold)
        @scheduler = scheduler
        @action = action
        @threshold = threshold
        @reports = []
        @lock = Mutex.new
        @resting = true
        @thread = Thread.new { watch }
        @thread.name = "plait watchdog"
      end

      # The loop waits for events, or does not turn at all: standing still is right now.
      def idle = @resting = true

      # A fiber, or the loop, has just started to run.
      def busy
        @since = Deadline.now
        @resting = false
      end

      # Called by a fiber that is about to let the loop go on.
      # @param may_raise [Boolean] whether a {BlockingError} may be raised here
      def leave(may_raise: true)
        return if @resting

        exclusively { @resting = true }
        since = @since
        return if (seconds = Deadline.now - since) < @threshold

        error = tell(since) { Report.new(seconds: seconds, backtrace: caller(3)) }
        raise error if error && may_raise
      end

      # It didn't let go after all.
      def stay = @resting = false

      def stop
        @thread.kill
        @thread.join
      end

      private

      # Looks first: a call that keeps the GVL may start before this thread does. On Ruby 3.1 a thread that ends by an
      # exception does not close its scheduler.
      def watch
        pause = [@threshold.fdiv(LOOKS_A_THRESHOLD), LONGEST_PAUSE].min
        while @scheduler.thread.alive?
          look
          sleep(pause)
        end
      end

      def look
        since = @since
        return if @resting || (seconds = Deadline.now - since) < @threshold

        error = tell(since) { Report.new(seconds: seconds, backtrace: @scheduler.thread.backtrace || []) }
        deliver(error, since) if error
      end

      # Once for each block, although both threads may see it; except that an error whose fiber has let go before it could
      # be raised there is raised by the fiber itself.
      # @return [BlockingError, nil] to be raised in the fiber
      def tell(since)
        first = exclusively { @reported != since && (@reported = since) }
        return unless first || (@action == :raise && @raised != since)

        report = yield
        act(report) if first
        BlockingError.new(report.to_s) if @action == :raise
      end

      # The fiber can't let go meanwhile: the error would hit the loop.
      def deliver(error, since)
        exclusively do
          next if @resting || @since != since

          @raised = since
          @scheduler.thread.raise(error)
        end
      end

      # For a few instructions. A fiber that waited for a mutex would let the loop go on.
      def exclusively
        Thread.pass until @lock.try_lock
        begin
          yield
        ensure
          @lock.unlock
        end
      end

      def act(report)
        @reports << report
        @reports.shift if @reports.size > KEPT
        case @action
        when :warn then warn("plait: #{report}")
        when :raise, :record then nil
        else hand_over(report)
        end
      end

      # Neither the watch nor a fiber that has nothing to do with it may end by the callable's error.
      def hand_over(report)
        @action.call(report)
      rescue StandardError => e
        warn("plait: what blocking: was given to call raised #{e.class}: #{e.message}")
      end
    end

    # Tells the watchdog whenever control passes from one fiber to another. Only a scheduler that has one pays for it.
    module Watched
      def run_until(...)
        @watchdog.busy
        super
      ensure
        @watchdog.idle
      end

      # Runs the new fiber at once, also when the loop isn't turning yet.
      def fiber(&block)
        return super unless home?

        begin
          @watchdog.busy
          super
        ensure
          @watchdog.idle
        end
      end

      # Before another fiber can run.
      def suspend
        @watchdog.leave
        super
      ensure
        @watchdog.busy
      end

      %i[io_wait io_read io_write process_wait].each do |name|
        define_method(name) do |*arguments|
          waits = ticks
          begin
            @watchdog.leave
            super(*arguments)
          ensure
            ticks == waits ? @watchdog.stay : @watchdog.busy
          end
        end
      end

      # A job is over; the next may start in the same fiber.
      def finished
        @watchdog.leave(may_raise: false)
        @watchdog.busy
        super
      end

      # Asked before each job that has not started.
      def slice_left?
        @watchdog.busy
        super
      end

      private

      def run_ready
        @watchdog.busy
        super
      end
    end

    private_constant :Watched
  end
end
