# frozen_string_literal: true

require "net/http"
require "plait/io/stream"

module Plait
  module HTTP
    module NetHTTP
      # The @socket of a Net::HTTP: the connection of a {Hold}, with the timeouts and the read buffer of this
      # session. It knows how far the exchange has come, and so whether the connection may have another.
      class PooledSocket < Net::BufferedIO
        # @param hold [Hold] with a connection
        # @param strict [Boolean] see {Settings}
        # @param timeouts [Hash] as Net::BufferedIO takes them
        def initialize(hold, strict:, **timeouts)
          super(hold.connection.io, **timeouts)
          @hold = hold
          @connection = hold.connection
          @reused = @connection.used?
          @strict = strict
        end

        # @return [Array] see {Key.of}
        def key = @hold.key

        # @return [Boolean] whether requests before this one have been answered on the connection
        def reused? = @reused

        # @return [Boolean] whether a byte of the answer has come
        def received? = @received

        # @return [Boolean] whether something has been read since {#body_untouched}
        def body_touched? = @touched

        # The head of the answer has been read, and nothing else.
        def body_untouched = @touched = false

        # Begins an exchange.
        def begin_exchange(patience)
          return unless @hold.wake

          close if @connection.used? && (unfit? || @connection.idle_longer_than?(patience) || @connection.stale?)
          @reused = @connection.used?
          @received = false
          @complete = false
        end

        # Ends an exchange whose answer has been read to its end.
        # @param kept_for [Numeric, nil] seconds for which the peer keeps the connection
        # @param kept_times [Integer, nil] further requests that the peer takes
        # @param bound [Boolean] whether the connection belongs to the user that has logged in on it
        def end_exchange(kept_for: nil, kept_times: nil, bound: false)
          return close if unfit? || !@connection.rest(kept_for, kept_times)

          @bound ||= bound
          @complete = !@bound
          @hold.rest if @complete
        end

        def release = @complete && !unfit? ? @hold.release : close

        def closed? = !@hold.wake || super

        def close
          @hold.close
          nil
        end

        # @raise [EOFError] also where Net::HTTP takes a part for the whole
        def read(length, destination = "".b, ignore_eof = false) # rubocop:disable Style/OptionalBooleanParameter -- Net's
          @touched = true
          super(length, destination, false)
        rescue EOFError
          return destination if ignore_eof && !@strict

          raise EOFError, "#{peer} closed the connection before all of the #{length} bytes that it had announced were there"
        end

        def read_all(*)
          @touched = true
          super
        end

        # @param limits [Hash] of the gem net-protocol from 0.3 on
        # @raise [EOFError] also for a head that ends in the middle
        def readuntil(terminator, ignore_eof = false, **limits) # rubocop:disable Style/OptionalBooleanParameter -- Net's
          @touched = true
          super(terminator, ignore_eof && !@strict, **limits)
        end

        private

        def rbuf_fill
          super
          @received = filled = true
        ensure # a timeout and a kill, too, leave half an answer
          @unfit = true unless filled
        end

        # Bytes after the end of the answer belong to no request.
        def unfit? = @unfit || @rbuf.bytesize > (@rbuf_offset || 0)

        def peer
          _, address, port = key
          "#{address}:#{port}"
        end
      end

      # An open connection to an origin, in use or idle.
      class Connection < Io::Stream
        # @return [Float] monotonic seconds at which its last use ended
        attr_reader :idle_since

        # @param io [Socket, OpenSSL::SSL::SSLSocket] connected
        def initialize(io)
          super
          @idle_since = Deadline.now
          @kept_for = @uses_left = Float::INFINITY
        end

        # @return [Boolean] whether a request has been answered on it
        def used? = @used

        # @return [Boolean] whether it belongs to the parent of a fork
        def foreign? = @generation != Native.fork_generation

        # Notes that an exchange on it is over.
        # @param kept_for [Numeric, nil] seconds for which the peer has said it keeps it
        # @param kept_times [Integer, nil] further requests that the peer has said it takes
        # @return [Boolean] whether the peer keeps it at all
        def rest(kept_for = nil, kept_times = nil)
          @used = true
          @idle_since = Deadline.now
          @kept_for = kept_for if kept_for
          @uses_left = [@uses_left - 1, kept_times].compact.min
          @uses_left.positive? && @kept_for.positive?
        end

        # @param limit [Numeric] seconds
        # @param now [Float] monotonic seconds
        # @return [Boolean] whether it has been idle for longer than that, or than its peer keeps it
        def idle_longer_than?(limit, now = Deadline.now) = now - @idle_since > [limit, @kept_for].min

        # (see Io::Stream#stale?)
        def stale? = foreign? || super
      end
      private_constant :PooledSocket, :Connection
    end
  end
end
