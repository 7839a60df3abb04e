# frozen_string_literal: true

require "openssl"
require_relative "handshake"
require_relative "stream"

module Plait
  module Io
    module TLS
      # An OpenSSL socket that knows for whom its sessions may be used again, and that one thread may read while another
      # writes. OpenSSL itself must not be entered twice for one connection: while a session ticket is read, OpenSSL calls
      # back into Ruby, which may switch to the thread that writes. Without the lock records were garbled.
      class Socket < OpenSSL::SSL::SSLSocket
        # @return [String, nil] the endpoint it connects to; of a client
        attr_accessor :session_key

        def initialize(...)
          super
          @entered = Mutex.new
        end

        # As OpenSSL's.
        def read_nonblock(length, buffer = nil, exception: true)
          @entered.synchronize { super }
        end

        # As OpenSSL's.
        def write_nonblock(bytes, exception: true)
          @entered.synchronize { super }
        end

        # Tells the peer that nothing more comes. Others may still read.
        # @return [void]
        def say_goodbye
          @entered.synchronize { stop }
        end

        # Says goodbye, and closes.
        # @return [void]
        def close
          @entered.synchronize { super }
        end

        # @return [Stream]
        def stream(endpoint: nil) = Stream.new(self, endpoint: endpoint)

        private

        # As in a handshake: a session ticket calls back into Ruby.
        def sysread_nonblock(length, buffer = nil, exception: true)
          Thread.handle_interrupt(Handshake::NEVER) { super }
        end
      end
    end
  end
end
