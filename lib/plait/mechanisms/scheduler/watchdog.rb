# frozen_string_literal: true

require "rbconfig"
require_relative "watched"
require_relative "../../values/deadline"
require_relative "../../values/errors"

module Plait
  class Scheduler
    # Notices that a fiber keeps the loop from turning, and finds out where: a thread of its own looks at the loop's
    # thread a few times in each threshold. A call that keeps the GVL is seen when it lets go, with its backtrace still in
    # place, or at the latest when its fiber next waits.
    #
    # What else keeps the loop's thread from running (a machine that is overloaded, other threads that compute) looks the
    # same from here.
    class Watchdog
      # One call that blocked the loop.
      # @!attribute seconds
      #   @return [Float] how long the loop stood still, at least
      # @!attribute backtrace
      #   @return [Array<String>] of the call
      Report = Struct.new(:seconds, :backtrace, keyword_init: true) do
        # @return [String, nil] the innermost line that is not part of Ruby's own libraries or of Plait
        def location
          backtrace.find { |line| !line.start_with?("<internal:", RbConfig::CONFIG["rubylibdir"], Watchdog::OURS) }
        end

        def to_s
          "the event loop was blocked for #{format("%.3f", seconds)} s at #{location || "an unknown place"}; " \
            "wrap the call in Plait.offload { }, or use on: :threads\n\t#{backtrace.first(12).join("\n\t")}"
        end
      end

      LOOKS_A_THRESHOLD = 4
      KEPT = 100
      OURS = File.expand_path("../..", __dir__).freeze

      # @return [Watchdog, nil]
      def self.for(scheduler, action, threshold)
        return unless action

        unless action.respond_to?(:call) || %i[warn raise record].include?(action)
          raise UsageError, "blocking: must be :warn, :raise, :record, a callable or nil, not #{action.inspect}"
        end

        new(scheduler, action, threshold).tap { scheduler.extend(Watched) }
      end

      # @return [Array<Report>] the last {KEPT}
      attr_reader :reports

      def initialize(scheduler, action, threshold)
        unless threshold.is_a?(Numeric) && threshold.positive?
          raise UsageError, "threshold: must be seconds above 0, not #{threshold.inspect}"
        end

        @scheduler = scheduler
        @action = action
        @threshold = threshold
        @reports = []
        @resting = true
        @thread = Thread.new { watch }
        @thread.name = "plait watchdog"
      end

      # The loop waits for events, or does not turn at all: standing still is right now.
      def idle = @resting = true

      # A fiber, or the loop, has just begun to run.
      def busy
        @since = Deadline.now
        @resting = false
      end

      # Called by a fiber that is about to let the loop go on.
      # @param may_raise [Boolean] whether a {BlockingError} may be raised here
      def leave(may_raise: true)
        seconds = Deadline.now - @since
        return if @resting || seconds < @threshold || @reported == @since

        error = report(seconds, caller(3))
        raise error if error && may_raise
      end

      def stop
        @thread.kill
        @thread.join
      end

      private

      # Looks first: a call that keeps the GVL may have begun before this thread has.
      def watch
        loop do
          look
          sleep(@threshold.fdiv(LOOKS_A_THRESHOLD))
        end
      end

      def look
        since = @since
        return if @resting || since == @reported || (seconds = Deadline.now - since) < @threshold

        error = report(seconds, @scheduler.thread.backtrace || [])
        @scheduler.thread.raise(error) if error && !@resting && @since == since
      end

      # @return [BlockingError, nil] to be raised in the fiber
      def report(seconds, backtrace)
        @reported = @since
        report = Report.new(seconds: seconds, backtrace: backtrace)
        @reports << report
        @reports.shift if @reports.size > KEPT
        act(report)
      end

      def act(report)
        case @action
        when :record then nil
        when :raise then BlockingError.new(report.to_s)
        when :warn then Warning.warn("plait: #{report}\n").then { nil }
        else @action.call(report).then { nil }
        end
      end
    end
  end
end
