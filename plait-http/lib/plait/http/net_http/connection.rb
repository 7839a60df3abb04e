# frozen_string_literal: true

require "socket"
require "plait/values/deadline"

module Plait
  module HTTP
    module NetHTTP
      # An open connection to an origin, whoever uses it.
      class Connection
        PEEK = Socket::MSG_PEEK

        # @return [Socket, OpenSSL::SSL::SSLSocket]
        attr_reader :io
        # @return [Float] monotonic seconds at which its last use ended
        attr_reader :idle_since

        # @param io [Socket, OpenSSL::SSL::SSLSocket] connected
        def initialize(io)
          @io = io
          @pid = Process.pid
          @idle_since = Deadline.now
          @kept_for = @uses_left = Float::INFINITY
        end

        # @return [Boolean] whether a request has been answered on it
        def used? = @used

        # @return [Boolean] whether a fork got it from its parent, who still uses it
        def foreign? = @pid != Process.pid

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

        # Asks the kernel, at the price of a system call. On an idle connection nothing may arrive: what does is the end,
        # or bytes that nobody has asked for.
        # @return [Boolean] whether it is of no more use
        def stale?
          return true if io.closed? || foreign?

          waiting = io.respond_to?(:recv_nonblock) ? io.recv_nonblock(1, PEEK, exception: false) : read_decrypted
          waiting != :wait_readable
        rescue IOError, SystemCallError, *tls_errors
          true
        end

        def close
          foreign? ? abandon : io.close
        rescue IOError, SystemCallError, *tls_errors
          nil
        end

        private

        # The descriptor alone: TLS would say goodbye on the connection, which is the parent's.
        def abandon = io.to_io.close

        # Below TLS there may be records that are no data, such as new session tickets.
        def read_decrypted = io.read_nonblock(1, exception: false)

        def tls_errors = io.respond_to?(:ssl_version) ? [OpenSSL::SSL::SSLError] : []
      end
    end
  end
end
