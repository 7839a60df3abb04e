# frozen_string_literal: true

require "net/http"

module Plait
  module HTTP
    module NetHTTP
      # What a Net::HTTP has as its @socket: the connection of a {Lease}, with the timeouts and the read buffer of this
      # session. It knows how far the exchange has come, and so whether the connection may have another.
      class PooledSocket < Net::BufferedIO
        # @return [Lease]
        attr_reader :lease

        # @param lease [Lease] with a connection
        # @param pool [Pool]
        # @param timeouts [Hash] as Net::BufferedIO takes them
        def initialize(lease, pool, **timeouts)
          super(lease.connection.io, **timeouts)
          @lease = lease
          @pool = pool
          @connection = lease.connection
          @reused = @connection.used?
          @strict = pool.settings.strict
        end

        # @return [Boolean] whether requests before this one have been answered on the connection
        def reused? = @reused

        # @return [Boolean] whether a byte of the answer has come
        def received? = @received

        # @return [Boolean] whether something has been read since {#body_untouched}
        def body_touched? = @touched

        # The head of the answer has been read, and nothing else.
        # @return [void]
        def body_untouched = @touched = false

        # Begins an exchange.
        # @return [void]
        def begin_exchange(patience)
          return unless @pool.wake(@lease)

          close if @connection.used? && (unfit? || @connection.idle_longer_than?(patience) || @connection.stale?)
          @reused = @connection.used?
          @received = false
          @complete = false
        end

        # Ends an exchange whose answer has been read to its end.
        # @param kept_for [Numeric, nil] seconds for which the peer keeps the connection
        # @param kept_times [Integer, nil] further requests that the peer takes
        # @param bound [Boolean] whether the connection belongs to whoever has logged in on it
        # @return [void]
        def end_exchange(kept_for: nil, kept_times: nil, bound: false)
          return close if unfit? || !@connection.rest(kept_for, kept_times)

          @bound ||= bound
          @complete = !@bound
          @pool.rest(@lease) if @complete
        end

        # @return [void]
        def release = @complete && !unfit? ? @pool.release(@lease) : close

        def closed? = !@lease.valid? || super

        def close
          @pool.discard(@lease)
          nil
        end

        # @raise [EOFError] also where Net::HTTP takes what there is for the whole
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

        # What has come after the end of the answer has not been asked for.
        def unfit? = @unfit || @rbuf.bytesize > (@rbuf_offset || 0)

        def peer
          _, address, port = @lease.key
          "#{address}:#{port}"
        end
      end
    end
  end
end
