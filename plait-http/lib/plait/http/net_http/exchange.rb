# frozen_string_literal: true

require "timeout"
require "plait/values/errors"

module Plait
  module HTTP
    module NetHTTP
      # One request of a Net::HTTP and its answer, from the first attempt to the last.
      class Exchange
        # @param request [Net::HTTPGenericRequest]
        def initialize(request)
          @request = request
          @fiber = Fiber.current
          @stale = 0
        end

        # @return [Net::HTTPResponse, nil] from when the caller has got it
        attr_accessor :response

        # Another request on the same Net::HTTP is in order only from the response's own block, once the body is read.
        # Everything else would mix the answers.
        # @raise [UsageError]
        def admit_another
          read = @response&.instance_variable_get(:@read)
          return if read && @fiber.equal?(Fiber.current)

          raise UsageError, "this Net::HTTP is waiting for the answer to its #{@request.method} #{@request.path}: give each " \
                            "thread and fiber a Net::HTTP of its own, and read a body before you send the next request"
        end

        # @param socket [PooledSocket] on which it is about to be sent
        attr_writer :socket

        # @return [Boolean] whether connections that have been idle are to be mistrusted
        def fresh? = @stale.positive?

        # Runs the caller's block. Net::HTTP then reads what the block has not read; but when that was left half-way (a break
        # out of read_body, a timeout that was rescued), it would begin anew, with the length of the whole, and wait for
        # bytes that never come. So that was all of the answer, and the end of the connection.
        def with_body
          @socket&.body_untouched
          yield
          return unless @socket&.body_touched? && !@response.instance_variable_get(:@read)

          @socket.close
          @response.instance_variable_set(:@read, true)
        end

        # How often Net::HTTP may try, in all. Its own rule is the method alone; but when something of the answer has come,
        # the caller may have got it, and a body that was read from a stream is gone.
        # @param allowed [Integer] the caller's max_retries
        # @param error [Exception, nil] why it asks
        # @return [Integer]
        def retries(allowed, error)
          return allowed unless @socket
          return 0 if @socket.received? || @request.body_stream

          # The pool's doing, not the caller's: with a connection of his own it would not have happened.
          @stale = 1 if @socket.reused? && !error.is_a?(Timeout::Error)
          allowed + @stale
        end
      end
    end
  end
end
