# frozen_string_literal: true

require_relative "violation"
require "plait/values/deadline"

module Plait
  class Server
    module HTTP2
      # What a peer may have us do for nothing (RFC 9113 §10.5): frames that bring no request further, and above all requests
      # that it resets at once, of which any number would fit within the limit of streams (CVE-2023-44487). Each costs; time, and
      # answers that are taken, give back.
      class Calm
        ALLOWANCE = 1_000.0
        # Given back each second.
        EACH_SECOND = 20
        # What a stream that came to nothing costs, and what an answer gives back.
        RESET = 4
        ANSWER = 8

        def initialize
          @left = ALLOWANCE
          @at = Deadline.now
        end

        # @param cost [Integer]
        # @return [void]
        # @raise [Violation]
        def spend(cost = 1)
          @left -= cost
          return if @left.positive?

          refill
          return if @left.positive?

          raise Violation.new(:enhance_your_calm, "it keeps us busy with frames that bring nothing", "§10.5")
        end

        # @param sum [Integer]
        # @return [void]
        def earn(sum) = @left = [@left + sum, ALLOWANCE].min

        private

        def refill
          now = Deadline.now
          earn((now - @at) * EACH_SECOND)
          @at = now
        end
      end
    end
  end
end
