# frozen_string_literal: true

require "io/wait"
require "socket"
require_relative "../native"
require "plait/values/deadline"

module Plait
  module Io
    class Connector
      # A socket on its way to one address.
      class Attempt
        # Seconds until a UNIX socket whose backlog is full is asked again: there is nothing to wait for.
        PAUSE = 0.005
        NEVER = { Object => :never }.freeze
        private_constant :NEVER

        # @return [Socket, nil] nil once it was taken or closed
        attr_reader :socket

        # @param family [Integer]
        # @param sockaddr [String] packed
        # @param options [SocketOptions]
        def initialize(family, sockaddr, options)
          @family = family
          @sockaddr = sockaddr
          @options = options
        end

        # @return [Boolean] whether it is connected already
        # @raise [SystemCallError]
        def start
          Thread.handle_interrupt(NEVER) { @socket = Socket.new(@family, Socket::SOCK_STREAM, 0) }
          @options.apply(@socket, @family)
          Native.available? ? begin_natively : proceed
        end

        # @return [Boolean] whether it is connected
        # @raise [SystemCallError] why it can't be
        def proceed = @socket.connect_nonblock(@sockaddr, exception: false) == 0

        # Starts, and waits for the end.
        # @param deadline [Deadline, nil]
        # @return [Boolean] whether it is connected, and the deadline has not passed
        # @raise [SystemCallError]
        def connect(deadline)
          connected = start
          until connected
            return false unless @socket.wait_writable(deadline&.remaining)

            connected = proceed
          end
          true
        rescue Errno::EAGAIN
          return false if deadline&.expired?

          close
          sleep(PAUSE)
          retry
        end

        # @param phases [Phases] the new owner
        # @return [Socket]
        def take(phases)
          Thread.handle_interrupt(NEVER) do
            phases.socket = @socket
            @socket = nil
          end
          phases.socket
        end

        # @return [void]
        def close
          @socket&.close
          @socket = nil
        end

        private

        # Looks a second time before anybody waits.
        def begin_natively
          errno = NativeConnect.begin(@socket, @sockaddr) or return false
          return true if errno.zero?

          raise SystemCallError.new("connect(2) for #{Addrinfo.new(@sockaddr).inspect_sockaddr}", errno)
        end
      end
    end
  end
end
