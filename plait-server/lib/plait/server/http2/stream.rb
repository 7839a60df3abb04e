# frozen_string_literal: true

require_relative "frames"
require "plait/values/deadline"

module Plait
  class Server
    module HTTP2
      # One request and its answer, as flow control and the states of RFC 9113 §5.1 see them.
      class Stream
        # @return [Integer]
        attr_reader :id
        # @return [Integer] bytes that we may send; below 0 when the peer has taken back what it had granted (§6.9.2)
        attr_accessor :window
        # @return [Integer] bytes that the peer may send
        attr_accessor :granted
        # @return [Integer] bytes that were received and that the core has not taken yet
        attr_accessor :held
        # @return [Integer] bytes taken without a WINDOW_UPDATE yet
        attr_accessor :untold
        # @return [Integer, nil] bytes of the request's body, as its Content-Length says
        attr_accessor :length
        # @return [Integer] bytes of it that have come
        attr_accessor :received

        # @param window [Integer]
        # @param granted [Integer]
        def initialize(id, window, granted)
          @id = id
          @window = window
          @granted = granted
          @held = @untold = @received = 0
          @receiving = true
        end

        # @return [Boolean] whether the peer may send more of its request
        def receiving? = @receiving

        def end_receiving = @receiving = false

        # @return [Boolean] whether more has come than its Content-Length, or less though it has ended
        def wrong_length? = !@length.nil? && (@received > @length || (!@receiving && @received < @length))

        def inspect = "#<#{self.class} #{@id}>"
      end

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
        # @raise [Violation]
        def spend(cost = 1)
          @left -= cost
          return if @left.positive?

          refill
          return if @left.positive?

          raise Violation.new(:enhance_your_calm, "it keeps us busy with frames that bring nothing", "§10.5")
        end

        # @param sum [Integer]
        def earn(sum) = @left = [@left + sum, ALLOWANCE].min

        private

        def refill
          now = Deadline.now
          earn((now - @at) * EACH_SECOND)
          @at = now
        end
      end
      private_constant :Stream, :Calm
    end
  end
end
