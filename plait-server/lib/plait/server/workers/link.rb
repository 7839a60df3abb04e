# frozen_string_literal: true

require "socket"

module Plait
  class Server
    class Workers
      # One end of the connection between a process and the one that has begun it: messages, each whole or not at all. It
      # ends with the process at its other end, however that has ended.
      class Link
        # Bytes of a message at most.
        MOST = 256 * 1024
        GONE = [:gone].freeze

        # @return [Array(Link, Link)]
        def self.pair = UNIXSocket.pair(:SEQPACKET).map { |socket| new(socket) }

        # @param socket [UNIXSocket]
        def initialize(socket)
          @socket = socket
        end

        # Does not wait: where the other side takes nothing, or is gone, the message is lost.
        # @param message [Array] what Marshal takes
        # @return [void]
        def send(*message)
          @socket.sendmsg_nonblock(Marshal.dump(message), exception: false)
        rescue SystemCallError, IOError
          nil # nobody is left to tell
        end

        # @param seconds [Numeric, nil] to wait at most; nil: for ever
        # @return [Array, nil] a message; nil when there was none; {GONE} when the other side is gone
        def receive(seconds = nil)
          return unless @socket.wait_readable(*seconds)

          bytes = @socket.recv_nonblock(MOST, exception: false)
          return if bytes == :wait_readable

          bytes.to_s.empty? ? GONE : Marshal.load(bytes) # rubocop:disable Security/MarshalLoad -- from our own fork
        rescue SystemCallError, IOError
          GONE
        end

        # @return [Integer] its descriptor
        def number = @socket.fileno

        # @return [void]
        def close = @socket.close
      end
    end
  end
end
