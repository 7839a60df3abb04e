# frozen_string_literal: true

require "openssl"

module Plait
  module Io
    module TLS
      # An OpenSSL socket that one thread may read while another writes: OpenSSL itself must not be entered twice for one
      # connection, as JRuby's threads would.
      class Socket < OpenSSL::SSL::SSLSocket
        # @return [#call, nil] takes the session for the next connection; of a client
        attr_writer :sessions

        def initialize(...)
          super
          @entered = Mutex.new
          @sessions = nil
        end

        # Keeps the session that this connection has now for the next one. Under TLS 1.3 the peer sends it with its first bytes,
        # so it is asked for once they have come, and no callback of OpenSSL ever runs in the midst of a read.
        def keep_session
          keep, @sessions = @sessions, nil
          found = keep && NativeTLS.session(self) or return
          keep.call(found, once: ssl_version == "TLSv1.3")
        end

        # As OpenSSL's.
        def read_nonblock(length, buffer = nil, exception: true) = @entered.synchronize { super }

        # As OpenSSL's.
        def write_nonblock(bytes, exception: true) = @entered.synchronize { super }

        # Tells the peer that nothing more comes. Others may still read.
        def say_goodbye = @entered.synchronize { stop }

        # Says goodbye, and closes.
        def close
          keep_session
          @entered.synchronize { super }
        end
      end

      # Either side's handshake, without blocking and within a deadline.
      module Handshake
        module_function

        # @param step [Symbol] :connect_nonblock or :accept_nonblock
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
    end
  end
end
