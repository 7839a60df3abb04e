# frozen_string_literal: true

require_relative "open_file"
require "plait/protocols/http1"

module Plait
  class Server
    # The headers of an app as lines: several values are an Array, or, before Rack 3, lines of one String. Names stay as they
    # are; white space around a value means nothing.
    module Fields
      module_function

      # @param headers [#each] names and values; what begins with "rack." is no header
      def of(headers)
        headers.to_enum(:each).flat_map do |name, value|
          next [] if name.start_with?("rack.") || value.nil?

          Array(value).flat_map { |one| lines(one.to_s.b).map { |line| [name, line] } }
        end
      end

      def lines(text)
        lines = text.split("\n").reject(&:empty?)
        lines << text if text.empty?
        lines.map { |line| line.gsub(/\A[ \t]+|[ \t]+\z/, "") }
      end
    end

    # An answer that is sent piece by piece: by chunks where its length is unknown.
    class Answer
      # The peer is gone, or takes nothing any longer.
      class Lost < IOError; end

      # Bytes that the peer has not taken; above it the writer waits. Raising it costs memory for each slow peer.
      OUTBOX = 64 * 1024
      # Of one part of a body, so that there is no copy of all of it while the peer takes it slowly.
      PIECE = 128 * 1024
      # A last coding by which the client sees where the body ends.
      CHUNKED = /(?:\A|,)[ \t]*chunked\z/i
      # Header names that the server writes itself.
      OWN = %w[content-length transfer-encoding connection].freeze

      # Waits while the peer has not taken more than the limit.
      # @param kept [Integer, nil] as {Exchange} says it of a write
      # @raise [Lost]
      def self.settle(exchange, kept, timeout, limit = OUTBOX)
        while kept.nil? || kept > limit
          raise Lost if kept.nil? || !exchange.io.wait_writable(timeout)

          kept = exchange.write([])
        end
      end

      # @param persistent [Boolean] whether the request lets the connection be used again
      # @param timeout [Numeric, nil] seconds that the peer may take nothing
      def initialize(exchange, env, status, headers, persistent:, timeout:)
        @exchange = exchange
        @env = env
        @status = status
        @fields = Fields.of(headers)
        @persistent = persistent && !closes?
        @timeout = timeout
        @length = length
        @sent = 0
        @framing = framing
      end

      def bodiless? = @framing == :none

      # @raise [Lost]
      # @raise [LocalProtocolError] for more than the Content-Length
      def <<(part)
        raise TypeError, "a body yields Strings, not #{part.class}" unless part.is_a?(String)

        return self if bodiless?
        raise Lost if @broken

        @broken = true
        count(part.bytesize)
        write(*framed(part)) unless part.empty?
        @broken = false
        self
      end

      # Sends what has come so far, though it may be nothing but the head.
      def flush = (write unless @started)

      # Of a file that has grown since its Content-Length was read, that many bytes. One without a size, as below /proc, may
      # have something in it.
      # @param file [File] which it closes
      def send_file(file)
        size = file.size
        return copy(file) if size == 0 || (@length && @length > size)

        @length ||= size
        @framing = :length
        flush
        settle(@exchange.write([]), 0)
        transmit(file)
      ensure
        file.close
      end

      # Gives the connection away, behind the head: the taker closes it, now or later.
      # @param taker [#call] called with a socket
      def hand_over(taker)
        @framing = :raw
        @persistent = false
        flush
        settle(@exchange.write([]), 0)
        give_away(taker, @exchange.call)
      end

      def switching? = @status == 101

      # @return [Boolean] whether the connection can be used again
      # @raise [LocalProtocolError] when the body was shorter than its Content-Length
      def finish
        raise Lost if @broken # the app has rescued what broke it

        flush
        write("0\r\n\r\n") if @framing == :chunked
        short if @framing == :length && @sent < @length
        @persistent
      end

      private

      # The taker of a connection closes it, unless the taker fails.
      def give_away(taker, socket)
        taker.call(socket)
        taken = true
      ensure
        socket.close unless taken
      end

      def named(name) = @fields.find { |field, _| field.casecmp?(name) }&.last

      def closes?
        @fields.any? do |name, value|
          name.casecmp?("connection") && value.split(/[, \t]+/).any? { |word| word.casecmp?("close") }
        end
      end

      def length
        lengths = @fields.filter_map { |name, value| value if name.casecmp?("content-length") }.uniq
        return if lengths.empty?
        return Integer(lengths.first, 10) if lengths.one? && lengths.first.match?(/\A\d{1,18}\z/)

        raise LocalProtocolError, "the app's content-length is no number: #{lengths.join(", ").inspect}"
      end

      def framing
        return :raw if switching?
        return :none if @env["REQUEST_METHOD"] == "HEAD" || @status == 204 || @status == 304
        return until_the_end if tunnel?
        return coded if named("transfer-encoding")
        return :length if @length
        return :chunked if @exchange.minor == 1

        until_the_end
      end

      # RFC 9110 section 9.3.6: nothing is said of lengths then.
      def tunnel? = @env["REQUEST_METHOD"] == "CONNECT" && @status.between?(200, 299)

      # The app's body is coded already.
      def coded
        if @exchange.minor.zero?
          raise LocalProtocolError, "the app's transfer-encoding can't be sent to a client of HTTP/1.0: it knows none"
        end

        return :raw if CHUNKED.match?(named("transfer-encoding"))

        @env["SERVER_PROTOCOL"] == "HTTP/2" ? uncoded : until_the_end
      end

      # RFC 9113 section 8.2.2: HTTP/2 has no codings of that kind.
      def uncoded
        return :chunked if named("transfer-encoding").casecmp?("identity")

        raise LocalProtocolError, "the app's transfer-encoding can't be sent by HTTP/2: it knows none"
      end

      # What is cut would look like a whole if the connection ended as it does else.
      def until_the_end
        @persistent = false
        @exchange.open_ended
        :raw
      end

      def count(bytes)
        @sent += bytes
        return unless @framing == :length && @sent > @length

        @persistent = false
        raise LocalProtocolError, "the app's content-length is #{@length}, but its body goes on after that"
      end

      def short = raise(LocalProtocolError, "the app's content-length is #{@length}, but its body has #{@sent} bytes")

      def framed(part) = @framing == :chunked ? ["#{part.bytesize.to_s(16)}\r\n", part, "\r\n"] : [part]

      def write(*parts)
        parts.unshift(head) unless @started
        @started = @broken = true
        if parts.all? { |part| part.bytesize <= PIECE }
          settle(@exchange.write(parts), OUTBOX)
        else
          parts.each { |part| write_slowly(part) }
        end
        @broken = false
      end

      def write_slowly(part)
        (0...part.bytesize).step(PIECE) { |at| settle(@exchange.write([part.byteslice(at, PIECE)]), OUTBOX) }
      end

      def settle(kept, limit) = Answer.settle(@exchange, kept, @timeout, limit)

      def copy(file)
        while (part = file.read(OUTBOX))
          self << part
        end
      end

      def transmit(file)
        ahead = ReadAhead.new(file)
        while @sent < @length
          sent = @exchange.send_file(file.fileno, @sent, ahead.fetch(@sent, @length - @sent))
          raise Lost if sent.nil? || (sent == 0 && !@exchange.io.wait_writable(@timeout))
          return unless sent # it was cut while it was sent: finish says so

          @sent += sent
          sleep(0) # others have their turn
        end
      end

      def head
        kept = switching? ? @fields : @fields.reject { |name, _| OWN.include?(name.downcase) }
        own = switching? ? [] : [length_field, coding_field, connection_field]
        own << ["date", date] unless named("date")
        Protocols::HTTP1::Serializer.response(@status, NativeServer.reason(@status), kept + own.compact)
      end

      def length_field = (["content-length", @length.to_s] if @length && @status != 204 && !tunnel? && !coding_field)

      def coding_field
        return %w[transfer-encoding chunked] if @framing == :chunked

        coding = named("transfer-encoding")
        ["transfer-encoding", coding] if coding && @framing != :none && !tunnel? && !coding.casecmp?("identity")
      end

      # An answer that names other protocols says so here, too (RFC 9110 section 7.8).
      def connection_field
        words = []
        words << "close" unless @persistent
        words << "keep-alive" if @persistent && @exchange.minor.zero?
        words << "upgrade" if named("upgrade")
        ["connection", words.join(", ")] if words.any?
      end

      def date = Time.now.utc.strftime("%a, %d %b %Y %H:%M:%S GMT")
    end

    # What an app finds as `rack.early_hints`: tells the client what it will need, before the answer is there (RFC 8297).
    class EarlyHints
      # @return [#call] the app, offered early hints where the client knows them
      def self.offer(app)
        lambda do |env|
          env["rack.early_hints"] = new(env["rack.hijack"]) unless env["SERVER_PROTOCOL"] == "HTTP/1.0"
          app.call(env)
        end
      end

      def initialize(exchange)
        @exchange = exchange
      end

      # @param headers [#each] names and values
      # @raise [LocalProtocolError]
      def call(headers)
        @exchange.interim([Protocols::HTTP1::Serializer.response(103, NativeServer.reason(103), Fields.of(headers))])
      end
    end
    private_constant :Fields, :Answer, :EarlyHints
  end
end
