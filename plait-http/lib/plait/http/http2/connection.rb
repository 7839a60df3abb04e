# frozen_string_literal: true

require_relative "call"
require "plait/io/channel"
require "plait/native"
require_relative "callers"
require_relative "../timeouts"
require "plait/protocols/http1/rules"
require "plait/protocols/http2/client"
require "plait/values/errors"

module Plait
  module HTTP
    module HTTP2
      # One connection for many requests at once, from any threads and fibers, without pools, redirects and retries. A request
      # that is broken off (a timeout, a kill, a cancellation) resets its own stream, and the others go on.
      class Connection
        include WireComplaints

        # Bytes of a body handed on at once.
        PIECE = 64 * 1024

        # @return [Io::Endpoint, String, nil]
        attr_reader :endpoint
        # @return [Io::Connector::Phases, nil] how long it took to connect
        attr_reader :phases

        # @param io [Io::TLS::Socket, BasicSocket] connected, to a peer that has agreed to HTTP/2; the connection's own now
        # @param endpoint [Io::Endpoint, String, nil] for messages
        # @param phases [Io::Connector::Phases, nil] given to the first response
        # @param limits [Protocols::HTTP1::Limits, nil] body, head, headers and interim count
        def initialize(io, endpoint: nil, phases: nil, limits: nil)
          @channel = Io::Channel.new(io)
          @endpoint = endpoint
          @phases = phases
          @limits = limits || Protocols::HTTP1::Limits.new
          @callers = Callers.new(@channel, @limits.head) { |call, reason| complaint(call, reason) }
          @session = @callers.session
          @generation = Native.fork_generation
        end

        # @return [Io::TLS::Socket, BasicSocket]
        def io = @channel.io

        # @param fields [Array<Array(String, String)>] see {RequestFields}
        # @param body [#each, String, nil] not framed
        # @param deadline [Float, nil] monotonic seconds
        # @yieldparam call [Call] before anything is done
        # @return [Response] whole
        # @raise [ReadTimeout, WriteTimeout, PoolTimeout] PoolTimeout: the peer allows no more streams at once
        # @raise [ConnectionClosed] when the stream was reset or the connection ended; retry_safe? tells whether the peer has
        #   said that it did nothing
        # @raise [RemoteProtocolError, LimitExceeded, TruncatedError]
        def call(fields, body, timeouts, deadline)
          exchange(fields, timeouts, deadline) do |call|
            yield call if block_given?
            ask(call, fields, body)
            @callers.await(call) { call.answer.complete? }
            respond(call, call.answer.take)
          end
        end

        # As {#call}; the body is to be had by {#read_piece}, and {#drop} ends it.
        # @return [Array(Response, Call)]
        def open(fields, body, timeouts, deadline)
          exchange(fields, timeouts, deadline, streamed: true) do |call|
            yield call if block_given?
            ask(call, fields, body)
            @callers.await(call) { call.answer.status }
            [respond(call, nil), call]
          end
        end

        # @param call [Call] of {open}
        # @return [String, nil] binary; nil at the end
        def read_piece(call)
          piece = nil
          call.move
          @callers.await(call) { (piece = take(call)) || call.answer.complete? }
          piece
        end

        # Ends a call of {open}.
        def drop(call) = foreign? ? abandon : @callers.leave(call)

        # @return [Boolean] whether another request can be made on it
        def usable? = !foreign? && !@callers.over? && !@session.ending?

        # @return [Boolean] whether the peer has said that it takes no more requests here, which it may at any time
        def sent_away? = @session.leaving?

        # Looks at it, with a system call or two, unless a call reads.
        # @return [Boolean] whether it is of no more use
        def stale? = foreign? || @callers.look

        # @return [Integer] requests under way
        def size = @session.size

        def closed? = @callers.over?

        # Sends GOAWAY and closes it. Its calls raise {ConnectionClosed}.
        def close = foreign? ? abandon : @callers.close("was closed on this side")

        # Closes our descriptor of a connection that another process goes on using.
        def abandon = @callers.abandon

        def inspect = "#<#{self.class} #{@endpoint} #{closed? ? "closed" : "#{size} under way"}>"

        private

        def foreign? = @generation != Native.fork_generation

        # A call that is left early is reset; one that is streamed goes on.
        def exchange(fields, timeouts, deadline, streamed: false)
          raise forked if foreign?

          call = build(fields, timeouts, deadline, streamed)
          value = yield call
          kept = streamed
          value
        ensure
          drop(call) if call && !kept
        end

        def build(fields, timeouts, deadline, streamed)
          answer = Answer.new(fields[0][1] == "HEAD", @limits)
          Call.new(fields, answer, endpoint: @endpoint, timeouts: timeouts, deadline: deadline, streamed: streamed)
        end

        # nginx refuses a stream with a body on a connection on which its settings are not acknowledged yet.
        def ask(call, fields, body)
          await_greeting(call) if body && !@session.greeted?
          @callers.open(call, fields, last: body.nil?)
          send_body(call, body) if body
          call.sent
        end

        def await_greeting(call)
          call.await_greeting
          @callers.await(call) { @session.greeted? }
          call.await_place
        end

        # A peer that has answered already does not need the rest.
        def send_body(call, body)
          pieces = body.is_a?(String) ? [body] : body
          pieces.each { |piece| send_piece(call, piece) or return nil }
          send_some(call, "", last: true)
        end

        # @return [Boolean] whether more is wanted
        def send_piece(call, piece)
          at = 0
          while at < piece.bytesize
            sent = send_some(call, piece.byteslice(at, PIECE)) or return false
            at += sent
          end
          true
        end

        # @return [Integer, nil] bytes; nil when the answer is complete
        def send_some(call, bytes, last: false)
          size = nil
          @callers.await(call) { call.answer.complete? || (size = pass(call, bytes, last)) }
          size
        end

        # @return [Integer, nil] nil when there is no room
        def pass(call, bytes, last)
          return if @session.congested?

          size = [@session.room(call.stream), bytes.bytesize].min
          return unless size.positive? || (last && bytes.empty?)

          @session.send_data(call.stream, bytes.byteslice(0, size), last: last)
          call.move
          size
        end

        def take(call)
          return if call.answer.body.empty?

          piece = call.answer.take
          @session.taken(call.stream, piece.bytesize)
          piece
        end

        def respond(call, body)
          response = call.response
          response.body = body
          response.trailers = call.answer.trailers
          response.durations = call.durations
          response.phases = @phases unless @reported
          @reported = true
          response
        end

        def complaint(call, reason)
          case reason
          when RemoteProtocolError then call.blame(reason)
          when EOFError then call.closed("#{peer} closed the connection before the answer was complete")
          when Exception then call.closed("the connection to #{peer} failed: #{reason.message}")
          else call.closed("the connection to #{peer} #{reason}")
          end
        end
      end
    end
  end
end
