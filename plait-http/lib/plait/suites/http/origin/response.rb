# frozen_string_literal: true

require "json"
require_relative "body"

module Plait
  module Suites
    class Origin
      # What to answer to a request, as pieces ready to be written.
      class Response
        DEFAULT_BYTES = 612
        MAX_BYTES = 1024**3
        CHUNK_BYTES = 8 * 1024
        ROUTE = %r{\A/(?:(bytes|chunked)/(\d{1,10}))?(?:\?|\z)}

        # @param request [Request]
        # @param statistics [Statistics] what /stats tells
        def initialize(request, statistics)
          @request = request
          @statistics = statistics
          @status = "200 OK"
          choose
        end

        # @return [Integer] bytes of the body that will be sent
        def body_bytes = @request.head? ? 0 : @body.size

        # @return [Boolean] whether it is about the origin itself, and so neither counted nor delayed
        def control? = @control

        # @yieldparam [String] head and body, in order
        def each_piece(&block)
          return yield(head) if @request.head?
          return each_chunk(&block) if @chunked && @request.http11?
          return yield(head << @body.to_s) if @body.size <= Body::SLAB_BYTES

          yield head
          @body.each_slab(&block)
        end

        # Whether the connection may be used again after this answer.
        def keep_alive? = @request.keep_alive? && !(@chunked && !@request.http11?)

        private

        def choose
          route = ROUTE.match(@request.target)
          return choose_control unless route

          bytes = (route[2] || DEFAULT_BYTES).to_i
          return refuse("400 Bad Request", "at most #{MAX_BYTES} bytes") if bytes > MAX_BYTES

          @chunked = route[1] == "chunked"
          @body = Body.new(@request.target, bytes)
        end

        def choose_control
          @control = true
          case @request.path
          when "/stats" then text(JSON.generate(@statistics.to_h))
          when "/reset" then text(JSON.generate(@statistics.to_h.tap { @statistics.reset }))
          else refuse("404 Not Found", "try /bytes/612, /chunked/65536, /stats or /reset, with ?latency=SECONDS")
          end
        end

        def refuse(status, reason)
          @status = status
          text("#{status}: #{reason}\n")
        end

        def text(string) = @body = Text.new(string)

        def head
          "HTTP/1.1 #{@status}\r\nContent-Type: text/plain\r\n#{framing}#{connection}\r\n"
        end

        def framing
          return "Content-Length: #{@body.size}\r\n" unless @chunked

          "Transfer-Encoding: chunked\r\n" if @request.http11?
        end

        def connection
          return "Connection: close\r\n" unless keep_alive?

          "Connection: keep-alive\r\n" unless @request.http11?
        end

        # Many chunks a write: what a client has to cut again, as on a real wire.
        def each_chunk
          yield head
          @body.each_slab do |slab|
            pieces = (0...slab.bytesize).step(CHUNK_BYTES).map { |offset| chunk(slab.byteslice(offset, CHUNK_BYTES)) }
            yield pieces.join
          end
          yield "0\r\n\r\n"
        end

        def chunk(bytes) = "#{bytes.bytesize.to_s(16)}\r\n".b << bytes << "\r\n"

        # A body given as it is.
        Text = Struct.new(:to_s) do
          def size = to_s.bytesize
        end
      end
    end
  end
end
