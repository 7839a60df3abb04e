# frozen_string_literal: true

require_relative "../acceptor"

module Plait
  class Server
    class Acceptor
      # Lets in peers that speak TLS. After the handshake a connection of HTTP/1.1 is the core's, as any other; one of HTTP/2 has
      # a fiber, or a thread.
      class TLS < Acceptor
        # Handshakes at once; others wait in the kernel. A thread costs more than a fiber.
        HANDSHAKES = Hash.new(1024).merge(threads: 64).freeze

        def initialize(...)
          raise UnsupportedError, "TLS needs the libssl, from 1.1.1 on, of Ruby's openssl" unless NativeTLS.found?

          super
        end

        private

        def most_arriving = HANDSHAKES[@options.on]

        # Whether bytes of the peer wait to be read: then this server is slow, and the peer must not be ended for it.
        def unread?(socket)
          socket.recv_nonblock(1, Socket::MSG_PEEK, exception: false) != :wait_readable
        rescue SystemCallError, IOError
          true # it is gone; the reader sees that
        end

        # A peer that does not speak TLS is closed by its failed handshake.
        def let_in(socket)
          brought = nil
          secure = shake_hands(socket)
          address = address_of(socket)
          return serve_http2(secure, address) if Protocols::HTTP2.spoken?(secure)

          Uninterruptible.run { brought = @core.bring_secure(secure, @number, address) }
        rescue Error, SystemCallError, IOError
          nil # closed below
        ensure
          release(socket)
          socket.close unless brought
        end

        def shake_hands(socket)
          @listener.tls.handshake(socket, @listener.endpoint, deadline: Deadline.after(@options.handshake_timeout))
        ensure
          @arriving.delete(socket)
        end
      end
    end
  end
end
