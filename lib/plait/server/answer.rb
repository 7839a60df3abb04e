# frozen_string_literal: true

require_relative "fields"
require_relative "tunnel"
require_relative "../native"
require_relative "../protocols/http1"
require_relative "../values/errors"

module Plait
  class Server
    # An answer that is sent piece by piece: by chunks where nobody knows how long it will be.
    class Answer
      # The peer is gone, or takes nothing any longer.
      class Lost < StandardError; end

      # Bytes that the peer has not taken, above which whoever writes waits.
      OUTBOX = 64 * 1024
      # Bytes of a file sent before others get their turn.
      SLICE = 1024 * 1024
      # What the server itself says.
      OWN = %w[content-length transfer-encoding connection].freeze
      LAST_CHUNK = "0\r\n\r\n"

      # @param exchange [Exchange]
      # @param env [Hash]
      # @param status [Integer]
      # @param headers [#each]
      # @param persistent [Boolean] whether the request lets the connection be used again
      # @param timeout [Numeric, nil] seconds that the peer may take nothing
      def initialize(exchange, env, status, headers, persistent:, timeout:)
        @exchange = exchange
        @env = env
        @status = status
        @fields = Fields.of(headers)
        @persistent = persistent && !named("connection").to_s.match?(/\bclose\b/i)
        @timeout = timeout
        @length = length_of(named("content-length"))
        @sent = 0
        @framing = framing
      end

      # @return [Boolean] whether its status or the request's method forbids a body
      def bodiless? = @framing == :none

      # @return [void]
      # @raise [Lost]
      # @raise [LocalProtocolError] for more than the Content-Length
      def <<(part)
        raise TypeError, "a body yields Strings, not #{part.class}" unless part.is_a?(String)

        count(part.bytesize)
        write(*framed(part)) unless part.empty?
        self
      end

      # Sends what has come so far, though it may be nothing but the head.
      # @return [void]
      def flush = (write unless @begun)

      # @return [void]
      def send_nothing = flush

      # @param path [String]
      # @return [void]
      def send_file(path)
        File.open(path, "rb") do |file|
          next copy(file) if @length && @length != file.size

          @length ||= file.size
          @framing = :length
          flush
          drain(0)
          transmit(file)
        end
      end

      # Gives the rest of the answer to whoever wants to write it himself: after an upgrade the connection is his.
      # @param taker [#call] called with a stream
      # @return [void]
      def hand_over(taker)
        return taker.call(Tunnel.new(self, @env["rack.input"])) unless upgrade?

        @framing = :raw
        flush
        drain(0)
        give_away(taker, @exchange.call)
      end

      # @return [Boolean] whether the connection can be used again
      # @raise [LocalProtocolError] when the body was shorter than its Content-Length
      def finish
        flush
        write(LAST_CHUNK) if @framing == :chunked
        short if @framing == :length && @sent < @length
        @persistent
      end

      private

      # Who takes a connection closes it, unless he fails.
      def give_away(taker, socket)
        taker.call(socket)
        taken = true
      ensure
        socket.close unless taken
      end

      def named(name) = @fields.find { |field, _| field == name }&.last

      def length_of(text)
        return unless text
        return Integer(text, 10) if text.match?(/\A\d+\z/)

        raise LocalProtocolError, "the app's content-length is no number: #{text.inspect}"
      end

      def framing
        return :none if @env["REQUEST_METHOD"] == "HEAD" || @status == 204 || @status == 304
        return :raw if upgrade? || named("transfer-encoding")
        return :length if @length
        return :chunked if @exchange.minor == 1

        @persistent = false
        :raw
      end

      def upgrade? = @status == 101 || @fields.any? { |name, _| name == "upgrade" }

      def head
        kept = upgrade? ? @fields : @fields.reject { |field| OWN.include?(field.first) }
        own = upgrade? ? [] : [length_field, coding_field, connection_field]
        own << ["date", date] unless named("date")
        Protocols::HTTP1::Serializer.response(@status, NativeServer.reason(@status), kept + own.compact)
      end

      def length_field = (["content-length", @length.to_s] if @length && @status != 204 && !coding_field)

      def coding_field = @framing == :chunked ? %w[transfer-encoding chunked] : @fields.assoc("transfer-encoding")

      def connection_field
        return %w[connection close] unless @persistent

        %w[connection keep-alive] if @exchange.minor.zero?
      end

      def date = Time.now.utc.strftime("%a, %d %b %Y %H:%M:%S GMT")

      def count(bytes)
        @sent += bytes
        return unless @framing == :length && @sent > @length

        @persistent = false
        raise LocalProtocolError, "the app's content-length is #{@length}, but its body goes on after that"
      end

      def short
        raise LocalProtocolError, "the app's content-length is #{@length}, but its body has #{@sent} bytes"
      end

      def framed(part) = @framing == :chunked ? ["#{part.bytesize.to_s(16)}\r\n", part, "\r\n"] : [part]

      def write(*parts)
        parts.unshift(head) unless @begun
        @begun = true
        settle(@exchange.write(parts), OUTBOX)
      end

      def drain(limit) = settle(@exchange.write([]), limit)

      def settle(kept, limit)
        while kept.nil? || kept > limit
          raise Lost if kept.nil? || !@exchange.io.wait_writable(@timeout)

          kept = @exchange.write([])
        end
      end

      def copy(file)
        while (part = file.read(OUTBOX))
          self << part
        end
      end

      def transmit(file)
        while @sent < @length
          sent = @exchange.send_file(file.fileno, @sent, [@length - @sent, SLICE].min)
          raise Lost if sent.nil? || (sent == 0 && !@exchange.io.wait_writable(@timeout))
          return unless sent # it was cut while it was sent: finish says so

          @sent += sent
        end
      end
    end
  end
end
