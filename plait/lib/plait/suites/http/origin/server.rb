# frozen_string_literal: true

require "json"
require "socket"
require_relative "../origin"
require_relative "../../common/companion"
require_relative "../../../mechanisms/scheduler"

module Plait
  module Suites
    class Origin
      # The origin's own process: plain blocking Ruby in a fiber for each connection; on JRuby, in a thread.
      class Server
        BACKLOG = 16_384
        LONGEST_HEAD = 16 * 1024
        REQUEST_LINE = %r{\A[A-Z]+ (?<target>/(?:bytes/(?<size>\d{1,9}))?(?:\?\S*)?|/stats) HTTP/1\.1\r\n}
        # Seconds before the next try where the process has no descriptor left for a connection.
        PAUSE = 0.01

        # @param latency [Float] seconds between a request and its answer
        # @param parent [Integer] the process without which this one ends
        def self.run(latency:, parent:)
          DescriptorLimit.lift
          Companion.serve(parent) do |announce|
            listener = TCPServer.new(HOST, 0)
            announce.call(listener.local_address.ip_port)
            new(listener, latency).run
          end
        end

        def initialize(listener, latency)
          @listener = listener.tap { listener.listen(BACKLOG) }
          @latency = latency
          @lock = Mutex.new
          @accepted = @served = 0
          @in_flight = Hash.new(0)
          @peaks = Hash.new(0)
        end

        # Answers until the process is ended.
        def run
          Fiber.set_scheduler(Scheduler.new) if RUBY_ENGINE == "ruby"
          spawn { loop { accept } }
          RUBY_ENGINE == "ruby" ? Fiber.scheduler.run : sleep
        end

        private

        def spawn(&block) = RUBY_ENGINE == "ruby" ? Fiber.schedule(&block) : Thread.new(&block)

        def accept
          socket = @listener.accept
          @lock.synchronize { @accepted += 1 }
          spawn { serve(socket) }
        rescue SystemCallError
          sleep(PAUSE)
        end

        def serve(socket)
          socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
          nil while (head = socket.gets("\r\n\r\n", LONGEST_HEAD)) && answer(socket, head)
        rescue SystemCallError, IOError
          nil # the client is gone
        ensure
          socket.close
        end

        # @return [Boolean] whether the connection is kept
        def answer(socket, head)
          line = REQUEST_LINE.match(head) or return write(socket, "404 Not Found", "try /bytes/612 or /stats\n", true)
          socket.read(head[/^content-length: *(\d+)/i, 1].to_i)
          close = head.match?(/^connection: *close/i)
          return write(socket, "200 OK", JSON.generate(figures), close) if line[:target] == "/stats"

          body = Origin.body(line[:target], (line[:size] || SIZE).to_i)
          counted(line[:target][/[?&]row=([^&]+)/, 1]) { sleep(@latency) && write(socket, "200 OK", body, close) }
        end

        def write(socket, status, body, close)
          head = "HTTP/1.1 #{status}\r\nContent-Length: #{body.bytesize}\r\n#{"Connection: close\r\n" if close}\r\n"
          socket.write(head.b << body)
          !close
        end

        def counted(row)
          @lock.synchronize { @peaks[row] = [@peaks[row], @in_flight[row] += 1].max }
          yield.tap { @lock.synchronize { @served += 1 } }
        ensure
          @lock.synchronize { @in_flight[row] -= 1 }
        end

        def figures = @lock.synchronize { { accepted: @accepted, served: @served, rows: @peaks.reject { |row, _| row.nil? } } }
      end
    end
  end
end
