# frozen_string_literal: true

require "plait/protocols/http2/frames"
require_relative "http2/connection"
require_relative "http2/call"

module Plait
  module HTTP
    # HTTP/2 (RFC 9113): many requests at once on one connection, from threads and fibers.
    #
    # @example
    #   tls = Io::TLS::Client.new(alpn: Protocols::HTTP2::ALPN)
    #   socket = Io::Connector.new(tls: tls).connect(endpoint)
    #   connection = HTTP2::Connection.new(socket, endpoint: endpoint) if Protocols::HTTP2.spoken?(socket)
    #   HTTP2::Wire.new(connection, origin).call("GET / HTTP/1.1\r\n\r\n", nil, 0, timeouts, nil).body
    module HTTP2
      # One exchange at a time on a {Connection}, with the interface of an HTTP/1.1 connection; a connection has many. To close it
      # resets its stream, and leaves the others alone.
      class Wire
        include WireComplaints

        # Bytes of a body handed on at once.
        PIECE = 64 * 1024

        attr_reader :connection

        # @yield when it is closed
        def initialize(connection, origin, &closed)
          @connection = connection
          @session = connection.session
          @origin = origin
          @scheme = origin.scheme.to_s
          @on_close = closed
        end

        def endpoint = @connection.endpoint

        # @return [Response] whole
        def get(url, offset, block, timeouts, deadline)
          target = url.byteslice(offset..)[/\A[^#]*/]
          target = "/#{target}" unless target.start_with?("/")
          authority, rest = prepared(block)
          response = whole(RequestFields.compose("GET", @scheme, authority, target.b, rest), nil, timeouts, deadline)
          response.url = url.dup
          response
        end

        # @param head [String] one of HTTP/1.1, which is put into fields
        # @return [Response] whole
        # @raise (see Connection#await)
        def call(head, body, _kind, timeouts, deadline) = whole(fields(head), raw(body), timeouts, deadline)

        # @return [Response] its body to be had by {read_piece}
        # @raise (see Connection#await)
        def open(head, body, _kind, timeouts, deadline)
          exchange do
            ask(fields(head), raw(body), timeouts, deadline, streamed: true)
            await { @call.answer.status }
            @streaming = true
            respond(nil)
          end
        end

        # @return [String, nil] binary; nil at the end
        def read_piece(_buffer = nil)
          return unless @streaming

          piece = nil
          exchange do
            @call.move
            await { (piece = take) || @call.answer.complete? }
            finish unless piece
          end
          piece
        end

        # The body need not wait: a peer that does not want it resets the stream alone.
        # @return [nil] see {resume}
        def expect_continue(head, kind, timeouts, deadline)
          @expected = [head, kind, timeouts, deadline]
          nil
        end

        def resume(body)
          head, kind, timeouts, deadline = @expected
          @expected = nil
          call(head, body, kind, timeouts, deadline)
        end

        # @return [Boolean] whether another request may follow
        def reusable? = !closed? && !@busy && !@streaming && @connection.usable?

        # @return [Boolean] whether an idle one is of no use
        def stale? = !reusable? || @connection.stale?

        # @return [Boolean] whether something of the last answer has come
        def received? = !@call.nil? && !@call.answer.status.nil?

        # @return [Boolean] whether something of the last request was sent
        def sent? = !@call.nil? && @call.sent?

        # @return [Boolean] see {Connection#sent_away?}
        def sent_away? = @connection.sent_away?

        def closed? = @closed || false

        def close
          return if closed?

          Uninterruptible.run do
            @closed = true
            @connection.leave(@call) if @call
          ensure
            @on_close&.call
          end
        end

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

        # An early end closes it, and resets its stream.
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

        def whole(fields, body, timeouts, deadline)
          exchange do
            ask(fields, body, timeouts, deadline)
            await { @call.answer.complete? }
            respond(@call.answer.take).tap { finish }
          end
        end

        def await(&done) = @connection.await(@call, &done)

        def finish
          @streaming = false
          @connection.leave(@call)
        end

        # nginx refuses a stream with a body on a connection on which its settings are not acknowledged yet.
        def ask(fields, body, timeouts, deadline, streamed: false)
          raise forked if @connection.foreign?

          answer = Answer.new(fields[0][1] == "HEAD", @connection.limits)
          @call = Call.new(fields, answer, endpoint: endpoint, timeouts: timeouts, deadline: deadline, streamed: streamed)
          await_greeting if body && !@session.greeted?
          @connection.open(@call, fields, last: body.nil?)
          send_body(body) if body
          @call.sent
        end

        def await_greeting
          @call.await_greeting
          await { @session.greeted? }
          @call.await_place
        end

        # A peer that has answered already does not need the rest.
        def send_body(body)
          pieces = body.is_a?(String) ? [body] : body
          pieces.each { |piece| send_piece(piece) or return nil }
          send_some("", last: true)
        end

        # @return [Boolean] whether more is wanted
        def send_piece(piece)
          at = 0
          while at < piece.bytesize
            sent = send_some(piece.byteslice(at, PIECE)) or return false
            at += sent
          end
          true
        end

        # @return [Integer, nil] bytes; nil when the answer is complete
        def send_some(bytes, last: false)
          size = nil
          await { @call.answer.complete? || (size = pass(bytes, last)) }
          size
        end

        # @return [Integer, nil] nil when there is no room
        def pass(bytes, last)
          return if @session.congested?

          size = [@session.room(@call.stream), bytes.bytesize].min
          return unless size.positive? || (last && bytes.empty?)

          @session.send_data(@call.stream, bytes.byteslice(0, size), last: last)
          @call.move
          size
        end

        def take
          return if @call.answer.body.empty?

          piece = @call.answer.take
          @session.taken(@call.stream, piece.bytesize)
          piece
        end

        def respond(body)
          response = @call.response
          response.body = body
          response.trailers = @call.answer.trailers
          response.durations = @call.durations
          response.phases = @connection.take_phases
          response
        end

        # @return [Array(String, Array<Array(String, String)>)] the authority, and the fields of a block that is the same for many
        #   requests
        def prepared(block)
          return @prepared if @block == block

          host, rest = RequestFields.split(pairs(block))
          @block = block.dup
          @prepared = [host || @origin.host_header.b, rest.each { |field| field.each(&:freeze) }]
        end

        def pairs(lines) = lines.split("\r\n").map { |line| line.split(": ", 2) }

        def fields(head)
          line, lines = head.b.split("\r\n", 2)
          method, target = line.split
          RequestFields.of(method, @scheme, @origin.host_header.b, target, pairs(lines))
        end

        # HTTP/2 has frames of its own.
        def raw(body) = body.respond_to?(:plain) ? body.plain : body
      end

      # The connections of HTTP/2 of a client: one for each origin, shared by all requests. While one request connects, others
      # wait for that connection.
      class Sharing
        # Origins that are known not to speak HTTP/2.
        KNOWN = 1024

        def initialize(limits: nil)
          @limits = limits
          @lock = Mutex.new
          @changed = ConditionVariable.new
          @connections = {}
          @places = Hash.new(0).compare_by_identity
          @connecting = {}
          @others = {}
          @generation = Native.fork_generation
        end

        # @param deadline [Deadline, nil] for waiting until another request has connected
        # @param take [#call, nil] is given the Wire before an interrupt can come
        # @yield connects, when there is no connection that takes another request
        # @yieldreturn [Array(Io::TLS::Socket, Io::Connector::Phases)] with {Protocols::HTTP2::ALPN} offered
        # @return [Wire, Array(Io::TLS::Socket, Io::Connector::Phases)] what the block returned when the peer has not chosen
        #   HTTP/2
        # @raise [ConnectTimeout]
        def wire(origin, deadline: nil, take: nil, &connect)
          mine = Object.new
          @lock.synchronize { find(origin, deadline, take, mine) } || connect(origin, take, &connect)
        ensure # others wait as soon as the mark is set: it ends in any case
          Uninterruptible.holding(@lock) { @connecting.delete(origin) && @changed.broadcast } if @connecting[origin].equal?(mine)
        end

        # @return [Integer] connections
        def size = @lock.synchronize { @connections.size }

        # Forgets all connections. Each is closed with its last call.
        def close = @lock.synchronize { @connections.clear }

        private

        # @param mine [Object] the caller's mark, if it is the one to connect
        # @return [Wire, nil] nil: it is
        def find(origin, deadline, take, mine)
          start_anew if @generation != Native.fork_generation
          loop do
            connection = @connections[origin]
            return place(connection, origin, take) if connection&.usable?
            return if @others.key?(origin)
            return (@connecting[origin] = mine) && nil unless @connecting.key?(origin)
            raise too_late(origin) if deadline&.expired?

            @changed.wait(@lock, deadline&.remaining)
          end
        end

        def connect(origin, take)
          socket, phases = yield
          return other(origin, [socket, phases]) unless Protocols::HTTP2.spoken?(socket)

          connection = Connection.new(socket, endpoint: origin.endpoint, phases: phases, limits: @limits)
          Uninterruptible.holding(@lock) { place(@connections[origin] = connection, origin, take) }
        end

        def other(origin, answer)
          @lock.synchronize do
            @others.shift if @others.size >= KNOWN
            @others[origin] = true
          end
          answer
        end

        # A connection is closed with its last place.
        def place(connection, origin, take)
          Uninterruptible.run do
            @places[connection] += 1
            Wire.new(connection, origin) { give_back(connection) }.tap { |wire| take&.call(wire) }
          end
        end

        def give_back(connection)
          connection.close if Uninterruptible.holding(@lock) { (@places[connection] -= 1).zero? && forget(connection) }
        end

        def forget(connection)
          @places.delete(connection)
          @connections.delete_if { |_, one| one.equal?(connection) }
          true
        end

        # The connections of a fork are its parent's.
        def start_anew
          @connections.each_value(&:abandon)
          [@connections, @places, @connecting].each(&:clear)
          @generation = Native.fork_generation
        end

        def too_late(origin)
          ConnectTimeout.new("no connection to #{origin.endpoint} in time: another request is connecting to it",
                             endpoint: origin.endpoint, phase: :connect)
        end
      end
    end
    private_constant :HTTP2
  end
end
