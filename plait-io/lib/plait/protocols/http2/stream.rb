# frozen_string_literal: true

require_relative "frames"

module Plait
  module Protocols
    module HTTP2
      # A request and its answer, as flow control and the states of RFC 9113 §5.1 see them.
      class Stream
        attr_reader :id
        # @return [Object, nil] the host's own
        attr_accessor :owner
        # @return [Integer] bytes that we may send; below 0 when the peer has taken back a part of its grant (§6.9.2)
        attr_accessor :window
        # @return [Integer] bytes that the peer may send
        attr_accessor :granted
        # @return [Integer] bytes that were received, and that the host has not taken yet
        attr_accessor :held
        # @return [Integer] bytes taken without a WINDOW_UPDATE yet
        attr_accessor :untold
        # @return [Integer, nil] bytes of the received body, by its Content-Length
        attr_accessor :length
        # @return [Integer] bytes of it that have come
        attr_accessor :received

        def initialize(id, window, granted)
          @id = id
          @window = window
          @granted = granted
          @held = @untold = @received = 0
          @receiving = @sending = true
        end

        # @return [Boolean] whether the peer may send more of its message
        def receiving? = @receiving

        # @return [Boolean] whether we may send more of our message
        def sending? = @sending

        def end_receiving = @receiving = false

        def end_sending = @sending = false

        # @return [Boolean] whether more has come than its Content-Length, or less though it has ended
        def wrong_length? = !@length.nil? && (@received > @length || (!@receiving && @received < @length))

        def inspect = "#<#{self.class} #{@id}>"
      end

      # What a peer may have us do for nothing (RFC 9113 §10.5): frames that bring no message further, and above all requests
      # that it resets at once, of which any number would fit within the limit of streams (CVE-2023-44487). Each such frame
      # costs; time, and messages that arrive, give back.
      class Calm
        ALLOWANCE = 1_000.0
        # Given back each second.
        EACH_SECOND = 20
        # What a stream that came to nothing costs, and what a whole answer gives back.
        RESET = 4
        ANSWER = 8
        # Bytes of a body that goes out for which the peer may send one WINDOW_UPDATE.
        GRANT = 128

        # @param clock [#call] returns monotonic seconds
        def initialize(clock)
          @clock = clock
          @left = ALLOWANCE
          @at = clock.call
          @updates = 0
        end

        # DATA goes out, of which the peer may widen both windows. Some peers do so for each small frame, much later.
        def send_data(size) = @updates += 2 + (size / GRANT)

        # A WINDOW_UPDATE comes.
        # @raise [Violation]
        def window_update = @updates.positive? ? @updates -= 1 : spend

        # @raise [Violation]
        def spend(cost = 1)
          @left -= cost
          return if @left.positive?

          refill
          return if @left.positive?

          raise Violation.new(:enhance_your_calm, "it keeps us busy with frames that bring nothing", "§10.5")
        end

        def earn(sum) = (@left = [@left + sum, ALLOWANCE].min)

        private

        def refill
          now = @clock.call
          earn((now - @at) * EACH_SECOND)
          @at = now
        end
      end

      # The fields of one head while their frames come: HEADERS, then any number of CONTINUATION frames, were it not for these
      # limits (CVE-2024-27316).
      class HeaderBlock
        # CONTINUATION frames.
        PARTS = 32

        # @return [Integer] of the stream
        attr_reader :id
        # @return [String] compressed
        attr_reader :bytes

        # @param frame [Frames::Frame] HEADERS
        # @param largest [Integer] bytes, compressed
        def initialize(frame, largest)
          @id = frame.id
          @last = frame.flag?(Frames::END_STREAM)
          @largest = largest
          @parts = 0
          @bytes, parent = frame.fragment
          @on_itself = parent == @id
          check
        end

        # @return [Boolean] whether the message ends with it
        def last? = @last

        # @return [Boolean] whether the stream is said to depend on itself
        def on_itself? = @on_itself

        # @param bytes [String] of CONTINUATION
        # @raise [Violation]
        def add(bytes)
          @parts += 1
          @bytes += bytes
          check
        end

        private

        def check
          return if @parts <= PARTS && @bytes.bytesize <= @largest

          raise Violation.new(:enhance_your_calm, "a header block of #{@bytes.bytesize} bytes in #{@parts + 1} frames", "§10.5.1")
        end
      end
    end
  end
end
