# frozen_string_literal: true

require_relative "../http1/syntax"
require_relative "frames"
require_relative "session"

module Plait
  module Protocols
    module HTTP2
      # A request's fields, checked (RFC 9113 §8.2, §8.3), and written as a head of HTTP/1.1, for a server whose core reads that.
      # What could be two requests there, or a longer one, is refused here.
      class RequestHead
        # A request that its stream is reset for (§8.1.1).
        class Malformed < StandardError; end

        PSEUDO = %w[:method :scheme :authority :path].freeze
        LENGTH = /\A\d{1,18}\z/n
        # Bytes of most heads: their String need not grow.
        ROOM = 512

        attr_reader :request_method, :length
        # @return [String, nil] a head of HTTP/1.1; nil of CONNECT
        attr_reader :to_http1

        # @param fields [Array<Array(String, String)>] binary
        # @param last [Boolean] whether there is no body
        def initialize(fields, last)
          count = fields.index { |name, _| !name.start_with?(":") } || fields.size
          @request_method, scheme, @authority, path = pseudo(fields.first(count))
          wrong = Fields.fault(others = fields.drop(count), Fields::STRICT) and raise Malformed, wrong
          head = write(others, connect? ? nil : target(scheme, path), last)
          @to_http1 = head unless connect?
        end

        # @return [Boolean] whether it wants a tunnel
        def connect? = @request_method == "CONNECT"

        private

        def pseudo(fields)
          values = fields.to_h
          raise Malformed, "a pseudo field twice" if values.size < fields.size

          found = values.values_at(*PSEUDO)
          found.compact.size == values.size ? found : raise(Malformed, "the pseudo field #{(values.keys - PSEUDO).first}")
        end

        # Some clients send bytes above 127 as they are; HTTP/1.1 takes them escaped only.
        def target(scheme, path)
          raise Malformed, "no :method, :scheme or :path" if [@request_method, scheme, path].any? { |value| value.to_s.empty? }
          raise Malformed, "the :method #{@request_method}" unless HTTP1::Syntax::TOKEN.match?(@request_method)

          target = path.ascii_only? ? path : path.gsub(/[\x80-\xff]/n) { |byte| format("%%%02X", byte.ord) }
          known = target.start_with?("/", "*") && HTTP1::Syntax::TARGET.match?(target)
          known && HTTP1::Syntax.target_form?(@request_method, target) ? target : raise(Malformed, "the :path #{path}")
        end

        def write(fields, target, last)
          hosts, lengths, crumbs = [], [], []
          rest = String.new(capacity: ROOM, encoding: Encoding::BINARY)
          fields.each do |name, value|
            case name
            when "host" then hosts << value
            when "content-length" then lengths << value
            when "cookie" then crumbs << value
            else rest << name << ": " << value << "\r\n"
            end
          end
          rest << "cookie: " << crumbs.join("; ") << "\r\n" unless crumbs.empty? # they may come one by one (§8.2.3)
          write_length(rest, lengths, last)
          "#{@request_method} #{target} HTTP/1.1\r\nhost: #{host_of(hosts)}\r\n#{rest}\r\n".b
        end

        # §8.3.1: a peer that sends both sends the same.
        def host_of(hosts)
          if hosts.size > 1 || (@authority && hosts.any? { |host| !host.casecmp?(@authority) })
            raise Malformed, "several hosts"
          end

          host = @authority || hosts.first || ""
          HTTP1::Syntax::HOST_AND_PORT.match?(host) ? host : raise(Malformed, "the host #{host}")
        end

        def write_length(head, lengths, last)
          return (head << "transfer-encoding: chunked\r\n" unless last) if lengths.empty?
          unless lengths.uniq.size == 1 && LENGTH.match?(lengths.first)
            raise Malformed, "the Content-Length #{lengths.join(", ")}"
          end

          head << "content-length: " << (@length = lengths.first.to_i).to_s << "\r\n"
        end
      end

      # A server's side of a connection. It calls the host also with `request(stream, head)`, a {RequestHead}.
      class Server < Session
        # Bytes that the peer may send on a stream, and on all together, before the app has read them.
        WINDOW = 256 * 1024
        WHOLE_WINDOW = 1024 * 1024

        def taken(stream, count)
          return unless @streams.key?(stream.id)

          stream.held -= count
          grant(count)
          super
        end

        private

        def preface = PREFACE

        def window = WINDOW

        def whole_window = WHOLE_WINDOW

        def largest_block = @largest

        def greet = put_settings(Settings::STREAMS, STREAMS, Settings::WINDOW, WINDOW, Settings::LIST, @largest)

        def unopened?(id) = id > @last || id.even?

        def check_stream(id)
          raise broken(:protocol_error, "a request on stream #{id}", "§5.1.1") if id.even?
        end

        def stranger(block, fields) = block.id > @last ? open_stream(block, fields) : ended(block.id)

        def open_stream(block, fields)
          @last = block.id
          return refuse(block.id, :refused_stream) if ending? || @streams.size >= STREAMS
          return refuse(block.id, :protocol_error) if block.on_itself?

          begin_request(block, RequestHead.new(fields, block.last?))
        rescue RequestHead::Malformed
          refuse(block.id, :protocol_error)
        end

        def begin_request(block, head)
          stream = Stream.new(block.id, @peer.window, WINDOW)
          stream.length = head.length
          stream.end_receiving if block.last?
          raise RequestHead::Malformed if stream.wrong_length?

          @streams[block.id] = stream
          @host.request(stream, head)
          @host.finish(stream, []) if block.last?
        end

        def refuse(id, error)
          put_reset(id, error)
          @calm.spend(Calm::RESET)
        end

        # Trailers.
        def take_head(stream, fields, last)
          wrong = last ? Fields.fault(fields, Fields::STRICT) : "a second head that does not end its stream"
          wrong ? fault(stream, :protocol_error, wrong, "§8.1") : end_receiving(stream, fields)
        end

        # The whole answer is sent. A peer that is still sending its request gets a RST_STREAM for the rest (§8.1).
        def end_sending(stream)
          @calm.earn(Calm::ANSWER)
          put_reset(stream.id, :no_error) if stream.receiving?
          forget(stream)
        end
      end
    end
  end
end
