# frozen_string_literal: true

require_relative "request"
require_relative "response"

module Plait
  module Suites
    class Origin
      # One client's connection, from its first byte to its end.
      class Connection
        READ_BYTES = 16 * 1024
        # After a refusal the client's unread bytes are taken off the socket before it is closed, up to this many:
        # closing with bytes unread sends a reset, which can destroy the refusal on its way.
        MAX_DRAINED_BYTES = 1024 * 1024

        # @param socket [TCPSocket]
        # @param waits [FiberLoop, ThreadLoop]
        # @param statistics [Statistics]
        # @param latency [Float] seconds between a request and its answer
        def initialize(socket, waits, statistics, latency)
          @socket = socket
          @waits = waits
          @statistics = statistics
          @latency = latency
          @buffer = String.new
        end

        # Answers until either side is through.
        def run
          @statistics.connected
          nil while (request = next_request) && skip_body(request) && answer(request)
        rescue Request::Malformed => e
          refuse(e.status)
        rescue SystemCallError, IOError
          nil # the client went away
        ensure
          @socket.close
          @statistics.disconnected
        end

        private

        def next_request
          scanned = 0
          until (request = @buffer.empty? ? nil : Request.take(@buffer, scanned))
            scanned = @buffer.bytesize
            @buffer << (read || return)
          end
          request
        end

        def skip_body(request)
          missing = request.body_bytes - @buffer.bytesize
          @buffer.slice!(0, request.body_bytes)
          while missing.positive?
            bytes = read or return false
            missing -= bytes.bytesize
            @buffer = bytes.byteslice(missing, -missing) if missing.negative?
          end
          true
        end

        # @return [Boolean] whether the connection goes on
        def answer(request)
          response = Response.new(request, @statistics)
          response.control? ? write(response) : counted(request.row, response) { delayed(request, response) }
          response.keep_alive?
        end

        def counted(row, response)
          done = false
          @statistics.began(row)
          yield
          done = true
        ensure
          @statistics.ended(done ? response.body_bytes : nil, row)
        end

        def delayed(request, response)
          seconds = request.latency || @latency
          @waits.sleep(seconds) if seconds.positive?
          write(response)
        end

        def write(response) = response.each_piece { |piece| write_all(piece) }

        def write_all(bytes)
          until bytes.empty?
            written = @socket.write_nonblock(bytes, exception: false)
            next @waits.wait_writable(@socket) if written == :wait_writable
            return if written == bytes.bytesize

            bytes = bytes.byteslice(written, bytes.bytesize - written)
          end
        end

        # Waits before it reads: a client that keeps to request and response has sent nothing more yet.
        # @return [String, nil] valid until the next wait; nil at the end of the stream
        def read
          @waits.wait_readable(@socket)
          bytes = @socket.read_nonblock(READ_BYTES, @waits.scratch, exception: false)
          bytes == :wait_readable ? read : bytes
        end

        def refuse(status)
          @statistics.malformed
          write_all("HTTP/1.1 #{status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
          @socket.close_write
          drained = 0
          drained += (read || return).bytesize while drained < MAX_DRAINED_BYTES
        rescue SystemCallError, IOError
          nil
        end
      end
    end
  end
end
