# frozen_string_literal: true

module Plait
  module Suites
    class Origin
      # One request's head, taken out of what a connection has received so far.
      class Request
        # The head is wrong or too large; the connection can't be trusted any more.
        class Malformed < StandardError
          # @return [String] status line without the version: "400 Bad Request"
          attr_reader :status

          def initialize(status)
            super
            @status = status
          end
        end

        MAX_HEAD_BYTES = 16 * 1024
        MAX_BODY_BYTES = 1024**3
        LINE = %r{\A([!#$%&'*+.^_`|~0-9A-Za-z-]+) (/[!-~]*|\*) HTTP/1\.([01])\z}
        FIELDS = /\A(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t -~\x80-\xff]*(?:\r\n|\z))*\z/n

        LATENCY = /[?&]latency=([^&]*)/
        ROW = /[?&]row=([^&]{1,100})/

        # What the header fields of a request mean to the origin.
        Fields = Struct.new(:connection, :body_bytes)

        # A client repeats the same fields with every request, so what they mean is looked up, not parsed again.
        MAX_CACHED = 256
        @fields = {}

        class << self
          # @param buffer [String] binary; the head is removed from it
          # @param scanned [Integer] bytes of the buffer known to hold no end of a head
          # @return [Request, nil] nil when more bytes are needed
          # @raise [Malformed]
          def take(buffer, scanned = 0)
            buffer.delete_prefix!("\r\n") if scanned.zero?
            finish = buffer.index("\r\n\r\n", [scanned - 3, 0].max)
            raise Malformed, "431 Request Header Fields Too Large" if (finish || buffer.bytesize) > MAX_HEAD_BYTES

            finish && parse(buffer.slice!(0, finish + 4))
          end

          private

          def parse(head)
            line_end = head.index("\r\n")
            line = LINE.match(head.byteslice(0, line_end)) or raise Malformed, "400 Bad Request"
            fields = line_end + 4 < head.bytesize ? head.byteslice(line_end + 2, head.bytesize - line_end - 6) : ""
            new(line[1], line[2], line[3] == "1", fields(fields))
          end

          # Not synchronized: two threads that parse the same text put the same value.
          def fields(text)
            @fields[text] || begin
              @fields.clear if @fields.size >= MAX_CACHED
              @fields[text] = parse_fields(text)
            end
          end

          def parse_fields(text)
            raise Malformed, "400 Bad Request" unless FIELDS.match?(text)
            raise Malformed, "501 Not Implemented" if text.match?(/^transfer-encoding:/in)

            Fields.new(text[/^connection:[ \t]*([^\r\n]*)/in, 1]&.downcase, body_bytes(text))
          end

          def body_bytes(text)
            lengths = text.scan(/^content-length:[ \t]*([^\r\n]*?)[ \t]*\r?$/in).flatten.uniq
            return 0 if lengths.empty?
            raise Malformed, "400 Bad Request" unless lengths.one? && lengths.first.match?(/\A\d{1,18}\z/)

            lengths.first.to_i.tap { |bytes| raise Malformed, "413 Content Too Large" if bytes > MAX_BODY_BYTES }
          end
        end

        # @return [String] "GET"
        attr_reader :verb
        # @return [String] path and query
        attr_reader :target

        def initialize(verb, target, http11, fields)
          @verb = verb
          @target = target
          @http11 = http11
          @fields = fields
        end

        # @return [Boolean] whether chunks may be sent and a connection is kept unless said otherwise
        def http11? = @http11

        # @return [Boolean]
        def head? = @verb == "HEAD"

        # @return [Integer] bytes of the request's own body, which follow the head
        def body_bytes = @fields.body_bytes

        # @return [Boolean] whether the client wants to use the connection again
        def keep_alive?
          return @http11 unless (connection = @fields.connection)

          @http11 ? !connection.include?("close") : connection.include?("keep-alive")
        end

        # @return [String] without the query
        def path = target[/\A[^?]*/]

        # @return [Float, nil] the seconds asked for by the parameter "latency"
        def latency = @target[LATENCY, 1]&.to_f

        # @return [String, nil] the name under which it wants to be counted, the parameter "row"
        def row = @target[ROW, 1]
      end
    end
  end
end
