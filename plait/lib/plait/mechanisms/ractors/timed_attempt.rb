# frozen_string_literal: true

require_relative "clock"
require_relative "../attempt"
require_relative "../mechanism"

module Plait
  module Mechanisms
    class Ractors < Mechanism
      # {Attempt} with a clock that works in a ractor.
      class TimedAttempt < Attempt
        def prepare = (Clock.current.prepare if @timed)

        private

        def timed(item)
          seconds, error = allowance
          Clock.current.enforce(seconds, error) { @body.call(item) }
        end
      end
    end
  end
end
