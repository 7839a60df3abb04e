# frozen_string_literal: true

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
        # @return [Integer] bytes that were received and that nobody has taken yet
        attr_accessor :held
        # @return [Integer] bytes taken, of which the peer was not told
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
          @receiving = @sending = true
        end

        # @return [Boolean] whether the peer may send more of its request
        def receiving? = @receiving

        # @return [Boolean] whether there is more of the answer to be sent
        def sending? = @sending

        def end_receiving = @receiving = false

        def end_sending = @sending = false

        # @return [Boolean] whether more has come than its Content-Length, or less though it has ended
        def wrong_length? = !@length.nil? && (@received > @length || (!@receiving && @received < @length))

        def inspect = "#<#{self.class} #{@id}>"
      end
    end
  end
end
