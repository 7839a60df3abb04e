# frozen_string_literal: true

require "io/wait"
require "openssl"
require "plait/values/errors"
require "plait/values/uninterruptible"

module Plait
  module Io
    module TLS
      # An OpenSSL socket that knows which endpoint may use its sessions again, and that one thread may read while another
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
        def say_goodbye
          @entered.synchronize { stop }
        end

        # Says goodbye, and closes.
        def close
          @entered.synchronize { super }
        end

        private

        # As in a handshake: a session ticket calls back into Ruby.
        def sysread_nonblock(length, buffer = nil, exception: true)
          Uninterruptible.run { super }
        end
      end

      # Either side's handshake, without blocking and within a deadline.
      module Handshake
        module_function

        # @param step [Symbol] :connect_nonblock or :accept_nonblock
        # @return [Socket]
        # @raise [ConnectTimeout]
        # @raise [OpenSSL::SSL::SSLError, SystemCallError]
        def run(socket, step, endpoint, deadline)
          while (want = step(socket, step)).is_a?(Symbol)
            socket.to_io.public_send(want, deadline&.remaining) or raise late(endpoint)
          end
          socket
        end

        # OpenSSL calls back into Ruby, and loses or crashes by an exception that another thread raises there.
        def step(socket, name) = Uninterruptible.run { socket.public_send(name, exception: false) }

        def late(endpoint)
          ConnectTimeout.new("no end of the TLS handshake with #{endpoint || "the peer"} in time",
                             endpoint: endpoint, phase: :tls)
        end
      end
      private_constant :Handshake
    end
  end
end
