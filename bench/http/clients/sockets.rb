# frozen_string_literal: true

require "socket"
require_relative "by_workers"

module Bench
  module HTTP
    module Clients
      # What one writes by hand on sockets, for one origin that is known to behave.
      class Sockets < ByWorkers
        # One keep-alive connection: request, answer, request. One buffer for all that is read; every body is a String of
        # its own size. No timeouts, no limits, no doubts.
        class Connection
          READ_BYTES = 16 * 1024

          def initialize(site)
            @fields = " HTTP/1.1\r\nHost: #{site.authority}\r\n\r\n"
            @socket = site.tls ? secure(site, connect(site)) : connect(site)
            @input = String.new(capacity: READ_BYTES)
          end

          def get(target)
            @socket.write("GET #{target}#{@fields}")
            @socket.readpartial(READ_BYTES, @input)
            more until (head_end = @input.index("\r\n\r\n"))
            body(@input.byteslice(0, head_end), head_end + 4)
          end

          def close = @socket.close

          private

          def connect(site)
            TCPSocket.new(site.host, site.effective_port).tap do |socket|
              socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
            end
          end

          def secure(site, socket)
            require "openssl"
            context = OpenSSL::SSL::SSLContext.new
            context.set_params(ca_file: site.ca_file)
            OpenSSL::SSL::SSLSocket.new(socket, context).tap do |secure|
              secure.sync_close = true
              secure.sync = true
              secure.connect
              secure.post_connection_check(site.host)
            end
          end

          def more = @input << @socket.readpartial(READ_BYTES)

          def body(head, offset)
            raise "not 200: #{head.lines.first}" unless head.start_with?("HTTP/1.1 200 ")

            length = head[/^content-length: *(\d+)/i, 1]
            length ? plain(offset, length.to_i) : chunked(offset)
          end

          # Not byteslice, which would share the buffer's memory with every body that ends where it ends.
          def plain(offset, length)
            here = @input.bytesize - offset
            return @input.unpack1("@#{offset}a#{length}") if here >= length

            @input.unpack1("@#{offset}a#{here}") << @socket.read(length - here)
          end

          def chunked(offset)
            body = String.new
            loop do
              more until (line_end = @input.index("\r\n", offset))
              size = @input.byteslice(offset, line_end - offset).hex
              offset = line_end + 2
              more while @input.bytesize < offset + size + 2
              return body if size.zero?

              body << @input.byteslice(offset, size)
              offset += size + 2
            end
          end
        end

        def requests(targets) = targets

        private

        def open = Connection.new(site)
      end
    end
  end
end
