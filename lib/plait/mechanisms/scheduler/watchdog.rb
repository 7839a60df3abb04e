# frozen_string_literal: true

require_relative "../../values/deadline"
require_relative "../../values/errors"

module Plait
  class Scheduler
    # Sees that the loop stands still and finds out why: a thread of its own looks at the loop's thread a few times in
    # each threshold. A call that keeps the GVL is seen when it lets go, with its backtrace still in place.
    class Watchdog
      # One call that blocked the loop.
      # @!attribute seconds
      #   @return [Float] how long the loop stood still, at least
      # @!attribute backtrace
      #   @return [Array<String>] of the call
      Report = Struct.new(:seconds, :backtrace, keyword_init: true) do
        # @return [String] the innermost line that is not part of Ruby's own libraries or of Plait
        def location = backtrace.find { |line| !line.start_with?("<internal:") && !line.include?("/lib/plait/") }

        def to_s
          "the event loop was blocked for #{format('%.3f', seconds)} s at #{location || 'an unknown place'}; " \
            "wrap the call in Plait.offload { }, or use on: :threads\n\t#{backtrace.first(12).join("\n\t")}"
        end
      end

      LOOKS_A_THRESHOLD = 4
      KEPT = 100

      # @return [Watchdog, nil]
      def self.for(scheduler, action, threshold)
        return unless action
        return new(scheduler, action, threshold) if action.respond_to?(:call) || %i[warn raise record].include?(action)

        raise UsageError, "blocking: must be :warn, :raise, :record, a callable or nil, not #{action.inspect}"
      end

      # @return [Array<Report>] the last {KEPT}
      attr_reader :reports

      def initialize(scheduler, action, threshold)
        @scheduler = scheduler
        @action = action
        @threshold = threshold
        @reports = []
        @resting = true
        @thread = Thread.new { watch }
        @thread.name = "plait watchdog"
      end

      # The loop waits for events: standing still is right now.
      def idle = @resting = true

      def busy = @resting = false

      def stop
        @thread.kill
        @thread.join
      end

      private

      def watch
        seen = nil
        since = reported = nil
        loop do
          sleep(@threshold / LOOKS_A_THRESHOLD)
          now = Deadline.now
          ticks = @resting ? nil : @scheduler.ticks
          if ticks.nil? || ticks != seen
            seen = ticks
            since = now
          elsif now - since >= @threshold && reported != seen
            reported = seen
            report(now - since)
          end
        end
      end

      def report(seconds)
        report = Report.new(seconds: seconds, backtrace: @scheduler.thread.backtrace || [])
        @reports << report
        @reports.shift if @reports.size > KEPT
        act(report)
      end

      def act(report)
        case @action
        when :warn then Warning.warn("plait: #{report}\n")
        when :raise then @scheduler.thread.raise(BlockingError, report.to_s)
        when :record then nil
        else @action.call(report)
        end
      end
    end
  end
end
