# frozen_string_literal: true

require "io/wait"
require "socket"
require_relative "../entrance"
require_relative "../http2/frames"
require "plait/values/deadline"

module Plait
  class Server
    class Entrance
      # Lets in peers without TLS, who begin with HTTP/2 or with HTTP/1.1 (RFC 9113 §3.3): their first bytes tell, which stay
      # where they are. Those of HTTP/1.1 go to the core as they are, and cost nothing from then on.
      class Cleartext < Entrance
        # Bytes that no request of HTTP/1.1 begins with.
        SIGN = HTTP2::FrameReader::MAGIC.byteslice(0, 16)
        # Connections at once that have not said what they speak; others wait in the kernel.
        SILENT = 1024

        private

        def most_arriving = SILENT

        # What has come stays where it is, and says nothing of who is slow.
        def unread?(_socket) = false

        def let_in(socket)
          known = listen_to(socket)
          address = address_of(socket)
          return serve_http2(socket, address) if known == :http2

          @core.bring(socket.fileno, @number, address) if known
        rescue SystemCallError, IOError
          nil # it is gone
        ensure
          release(socket)
          socket.close
        end

        # @return [Symbol, nil] nil: it has said nothing in time
        def listen_to(socket)
          deadline = Deadline.after(@options.head_timeout)
          pause = LOOK
          while socket.wait_readable(deadline&.remaining)
            bytes = socket.recv(SIGN.bytesize, Socket::MSG_PEEK).to_s # from Ruby 3.3 on its end is nil
            return if bytes.empty? || deadline&.expired?
            return :http2 if bytes == SIGN
            return :http1 unless SIGN.start_with?(bytes)

            sleep(pause) # the rest makes it no more readable than it is
            pause = [pause * 2, PATIENCE].min
          end
        ensure
          @arriving.delete(socket)
        end
      end
    end
  end
end
