# frozen_string_literal: true

require_relative "fields"
require_relative "../url"
require_relative "../timeouts"
require "plait/values/errors"

module Plait
  module HTTP
    module HTTP2
      # A place on a {Connection} for who knows wires: the interface of {HTTP::Wire}, one exchange at a time, and as many of
      # these on one connection as are wanted. To close it resets what is under way on it, and leaves the others alone.
      class Wire
        include WireComplaints

        # @return [Connection]
        attr_reader :connection

        # @param connection [Connection]
        # @param origin [Origin]
        # @yield when it is closed
        def initialize(connection, origin, &closed)
          @connection = connection
          @origin = origin
          @on_close = closed
        end

        # @return [Io::TLS::Socket, BasicSocket]
        def io = @connection.io

        # @return [Io::Endpoint, String, nil]
        def endpoint = @connection.endpoint

        # @return [Io::Connector::Phases, nil]
        def phases = @connection.phases

        # @return [Response] whole
        # @raise (see Connection#request)
        def get(url, offset, block, timeouts, deadline)
          target = url.byteslice(offset..)[/\A[^#]*/]
          call("GET #{"/" unless target.start_with?("/")}#{target} HTTP/1.1\r\n".b << block << "\r\n", nil, 0, timeouts, deadline)
            .tap { |response| response.url = url.dup }
        end

        # @param head [String] one of HTTP/1.1, which is put into fields
        # @param body [String, Upload, #each, nil]
        # @return [Response] whole
        # @raise (see Connection#request)
        def call(head, body, _kind, timeouts, deadline)
          exchange { @connection.call(fields(head), raw(body), timeouts, deadline) { |call| @call = call } }
        end

        # @return [Response] its body to be had by {read_piece}
        # @raise (see Connection#request)
        def open(head, body, _kind, timeouts, deadline)
          exchange do
            response, @streamed = @connection.open(fields(head), raw(body), timeouts, deadline) { |call| @call = call }
            response
          end
        end

        # @return [String, nil] binary; nil at the end
        # @raise (see Connection#request)
        def read_piece
          return unless @streamed

          exchange { @connection.read_piece(@streamed) }.tap { |piece| finish_streaming unless piece }
        end

        # The body need not wait: a peer that does not want it resets the stream alone.
        # @return [nil] see {resume}
        def expect_continue(head, kind, timeouts, deadline)
          @expected = [head, kind, timeouts, deadline]
          nil
        end

        # @return [Response]
        def resume(body)
          head, kind, timeouts, deadline = @expected
          @expected = nil
          call(head, body, kind, timeouts, deadline)
        end

        # @return [Boolean] whether another request may follow
        def reusable? = !closed? && !@busy && @streamed.nil? && @connection.usable?

        # @return [Boolean] whether an idle one is of no use
        def stale? = !reusable? || @connection.stale?

        # @return [Boolean] whether something of the last answer has come
        def received? = !@call.nil? && !@call.answer.status.nil?

        # @return [Boolean] whether something of the last request was sent
        def sent? = !@call.nil? && @call.sent?

        # @return [Boolean] see {Connection#sent_away?}
        def sent_away? = @connection.sent_away?

        # @return [Boolean]
        def closed? = @closed || false

        # @return [void]
        def close
          return if closed?

          @closed = true
          @connection.drop(@call) if @call
          @on_close&.call
        end

        # @return [void]
        def abandon
          @closed = true
          @connection.abandon
        end

        # @raise [UnsupportedError] there is no connection of its own
        def detach
          raise UnsupportedError, "the connection to #{endpoint} speaks HTTP/2, and is not to be taken: ask without http2: true"
        end

        def inspect = "#<#{self.class} #{endpoint}#{" closed" if closed?}>"

        private

        # Whatever leaves it early closes it; its stream is reset.
        def exchange
          raise closed_before if closed?

          misuse!(:in_use) if @busy
          @busy = entered = true
          value = yield
          finished = true
          value
        ensure
          @busy = false if entered
          close if entered && !finished
        end

        def finish_streaming
          @connection.drop(@streamed)
          @streamed = nil
        end

        def fields(head)
          line, *lines = head.split("\r\n")
          method, target = line.split
          pairs = lines.map { |field| field.split(": ", 2) }
          Fields.of(method, URL.new(@origin, "/", nil), pairs, target: target)
        end

        # HTTP/2 has frames of its own.
        def raw(body) = body.respond_to?(:plain) ? body.plain : body
      end
    end
  end
end
