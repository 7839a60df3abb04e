# frozen_string_literal: true

require "io/wait"
require "plait/protocols/http1"
require "plait/values/deadline"
require "plait/values/errors"

module Plait
  module HTTP
    class PureWire
      # The sending half. While a long request waits for the peer to take more, the peer is listened to: it may have answered
      # already (413, say), and then it will not take the rest.
      module Requests
        # Bytes up to which a head and its body leave together; more would be copied for nothing.
        SMALL = 16 * 1024
        # Bytes of an answer that are taken in while we send, when its body is read piece by piece. Of one that is had as a
        # whole all of them are: an echo has to be heard to its end, or neither side would get any further.
        HEARD = 1024 * 1024
        # A peer that answers with less gets the rest of the request: it may be an echo.
        REFUSAL = 300
        # Seconds of a wait that has no end: then comes the next one.
        ONE_WAIT = 3600.0
        TO_LOG_IN = 8
        METHODS = { 1 => "HEAD", 2 => "CONNECT" }.freeze
        Syntax = Protocols::HTTP1::Syntax
        private_constant :SMALL, :REFUSAL, :ONE_WAIT, :TO_LOG_IN, :METHODS, :Syntax

        private

        # @raise [LocalProtocolError]
        def get_head(url, offset, block)
          target = url.byteslice(offset..) or raise ArgumentError, "the target can't begin behind the URL"
          target = target.b[/\A[^#]*/n]
          target = "/#{target}" if target.empty? || target.start_with?("?")
          bad_target!(target) unless Syntax::TARGET.match?(target) && Syntax.target_form?("GET", target)

          "GET #{target} HTTP/1.1\r\n".b << block << "\r\n"
        end

        # @param most [Integer, Float] bytes of the answer that are taken in meanwhile
        def send_request(head, body, kind, timeouts, deadline, most: HEARD)
          @most_heard = most
          @sent = @received = @read_out = @stopped = false
          @login = kind.anybits?(TO_LOG_IN)
          set_clock(timeouts, deadline)
          expect_head(METHODS.fetch(kind & 3, "GET"), kind.anybits?(4))
          send_parts(head, body)
          @sent_at = Deadline.now
        end

        def send_parts(head, body)
          return send_bytes(joined(head, body)) if body.is_a?(String) && head.bytesize + body.bytesize <= SMALL

          send_bytes(head)
          send_body(body)
        end

        def joined(head, body) = String.new(head, capacity: SMALL, encoding: Encoding::BINARY) << body.b

        def send_body(body)
          return if body.nil?
          return send_bytes(body) if body.is_a?(String)

          body.each do |piece|
            break if @stopped

            send_bytes(piece)
          end
        end

        def send_bytes(bytes)
          raise TypeError, "a piece of a body is a String, not #{bytes.class}" unless bytes.is_a?(String)

          done = 0
          while done < bytes.bytesize && !@stopped
            raise closed_here if @state == :closed

            in_time(:send)
            sent = send_now(done.zero? ? bytes : bytes.byteslice(done..))
            sent.is_a?(Symbol) ? wait_to_send(sent) : done += sent
          end
        end

        # A failure to send is no error yet: the peer may have answered before.
        def send_now(bytes)
          sent = io.write_nonblock(bytes, exception: false)
          @sent = true if sent.is_a?(Integer)
          sent
        rescue *@breaks => e
          @failure = e
          @stopped = true
          0
        end

        # @param way [Symbol] :wait_readable or :wait_writable, as the socket asks
        def wait_to_send(way)
          at = limit(:send)
          came = await(way, at ? [at - Deadline.now, 0.0].max : ONE_WAIT)
          raise closed_here if @state == :closed
          raise too_late(:send, at) unless came || at.nil?

          listen unless @deaf
        end

        def await(way, seconds)
          return io.to_io.wait(seconds, :read_write) unless @deaf

          io.to_io.public_send(way, seconds)
        end

        # Receives without waiting.
        def listen
          count = @stream.fill(deadline: Deadline.new(0.0))
        rescue ReadTimeout
          nil
        rescue ConnectionClosed => e
          @failure ||= e
          @deaf = @stopped = true
        else
          hear(take(count))
        end

        def hear(count)
          @heard += count
          @deaf = count.zero? || @heard > @most_heard
          @stopped = true if final_head_there? && @parser.head.status >= REFUSAL
        end
      end
    end
  end
end
