# frozen_string_literal: true

module Plait
  class Scheduler
    # A block that the loop itself calls at a time; see {Waiting#after}.
    class Alarm
      # @return [Float, nil] monotonic seconds
      attr_accessor :at
      # @return [Proc, nil] what the timers ask for: nil once it has rung or was cancelled
      attr_reader :fiber

      def initialize(scheduler, block)
        @scheduler = scheduler
        @fiber = block
      end

      # @return [void]
      def cancel = @scheduler.disarm(self)

      def void = @fiber = nil

      def fire(_scheduler)
        block = @fiber
        @fiber = nil
        block&.call
      end
    end
  end
end
