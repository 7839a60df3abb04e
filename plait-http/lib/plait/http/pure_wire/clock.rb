# frozen_string_literal: true

require "plait/values/deadline"

module Plait
  module HTTP
    class PureWire
      # How long each wait may take.
      module Clock
        private

        # @param timeouts [Timeouts, nil]
        # @param deadline [Float, nil] monotonic seconds
        def set_clock(timeouts, deadline)
          @timeouts = timeouts
          total = timeouts&.total
          @ends = [deadline, total && (@started + total)].compact.min
          in_time(:send)
        end

        # @param phase [Symbol] :send, :first_byte or :read
        # @return [Float, nil] when a wait that begins now must be over
        def limit(phase)
          own = phase == :first_byte ? after(@sent_at, @timeouts&.first_byte) : after(Deadline.now, @timeouts&.read)
          own && @ends ? [own, @ends].min : own || @ends
        end

        def after(start, seconds) = seconds && (start + seconds)

        # A peer that never lets us wait meets the end of the whole all the same.
        def in_time(phase)
          raise too_late(phase, @ends) if @ends && Deadline.now >= @ends
        end

        # @param at [Float] the limit that was reached
        # @return [TimeoutError]
        def too_late(phase, at)
          late(phase, @timeouts, at == @ends)
        end
      end
    end
  end
end
