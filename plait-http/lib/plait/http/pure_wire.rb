# frozen_string_literal: true

require "plait/io/channel"
require "plait/io/stream"
require_relative "pure_wire/answers"

module Plait
  module HTTP
    # One HTTP/1.1 connection of a client, in Ruby; twin of NativeWire (plait-io/ext/plait_io/wire/rb_wire.h). It sends a
    # request and receives the answer, without pools, redirects and retries.
    #
    # An exchange that ends early (an error, a timeout, a kill, a cancellation, `break`) closes the connection: a late answer
    # never reaches another request.
    class PureWire
      include WireComplaints
      include Answers

      HTTP1 = Protocols::HTTP1
      # Bytes up to which a head and its body leave together; more would be copied for nothing.
      SMALL = 16 * 1024
      # Seconds between two looks for an early answer, between pieces of a body.
      LISTEN = 0.01
      # Bytes of an answer that are taken in while we send, when its body is read piece by piece. Of one that is had as a
      # whole all of them are: an echo has to be heard to its end, or neither side would get any further.
      HEARD = 1024 * 1024
      # A peer that answers with less gets the rest of the request: it may be an echo.
      REFUSAL = 300
      # Seconds of a wait that has no end: then comes the next one.
      ONE_WAIT = 3600.0
      TO_LOG_IN = 8
      METHODS = { 1 => "HEAD", 2 => "CONNECT" }.freeze
      Syntax = HTTP1::Syntax

      # @return [String, Io::Endpoint, nil] of the peer
      attr_reader :endpoint
      attr_reader :phases

      # @param io [BasicSocket, Io::TLS::Socket] connected; the wire's own from now on
      # @param endpoint [String, Io::Endpoint, nil] for messages
      # @param phases [Io::Connector::Phases, nil] how long connecting took; the first response tells it
      def initialize(io, endpoint: nil, phases: nil, limits: nil)
        @stream = Io::Stream.new(io, endpoint: endpoint)
        raise UsageError, "TLS by #{io.class}: it takes an Io::TLS::Socket" unless @stream.tls? || io.is_a?(BasicSocket)

        @endpoint = endpoint
        @phases = phases
        @limits = limits || HTTP1::Limits.new
        @parser = HTTP1::ResponseParser.new(limits: @limits)
        @most_of_a_whole = [@limits.body || Float::INFINITY, HEARD].max
        @state = :idle
        @sent = @received = false
        @uses_left = @kept_for = @kept_until = Float::INFINITY
        @guard = Mutex.new
        @generation = Native.fork_generation
      end

      def io = @stream.io

      # GET, by a head most of which is always the same.
      #
      # @param url [String] without its fragment; an empty path is "/"
      # @param offset [Integer] bytes of it before the target
      # @param block [String] all lines of the head but the first, each with its end
      # @param deadline [Float, nil] monotonic seconds
      # @return [Response] whole
      # @raise [LocalProtocolError] for an impossible target; nothing is sent then
      # @raise [WriteTimeout, ReadTimeout]
      # @raise [ConnectionClosed] before an answer
      # @raise [RemoteProtocolError] for a broken answer, {TruncatedError} for a part of one, {LimitExceeded}
      # @raise [UsageError] when an exchange on it has not ended
      def get(url, offset, block, timeouts, deadline)
        head = get_head(url, offset, block)
        call(head, nil, 0, timeouts, deadline).tap { |response| response.url = url.dup }
      end

      # @param head [String] whole
      # @param body [nil, String, #each] the bytes that follow it, framed already; `each` yields Strings
      # @param kind [Integer] bits: 1 HEAD, 2 CONNECT, 4 with a field Upgrade, 8 with a login for the connection, which takes
      #   no other request after it
      # @param deadline [Float, nil] monotonic seconds
      # @return [Response] whole
      def call(head, body, kind, timeouts, deadline)
        exchange(:idle) do
          send_request(head, body, kind, timeouts, deadline, most: @most_of_a_whole)
          whole
        end
      end

      # As {call}.
      # @return [Response] whose body is read by {#read_piece}
      def open(head, body, kind, timeouts, deadline)
        exchange(:idle) do
          send_request(head, body, kind, timeouts, deadline)
          opened
        end
      end

      # @return [String, nil] of the body of the opened response: binary, 64 KiB at most; nil at its end
      def read_piece(_buffer = nil)
        return if @read_out

        misuse!(:nothing_to_read) if @state == :idle && !@guard.locked?

        exchange(:streaming) { next_piece }
      end

      # Sends a head with `Expect: 100-continue`.
      # @return [Response, nil] whole, when the peer doesn't want the body; nil: call {#resume}
      def expect_continue(head, kind, timeouts, deadline)
        exchange(:idle) do
          send_request(head, nil, kind, timeouts, deadline)
          next become(:expecting) && nil unless answered_at_once?

          @stopped = true
          whole
        end
      end

      # Sends the body that {#expect_continue} has announced.
      # @return [Response] whole
      def resume(body)
        exchange(:expecting) do
          become(:idle)
          @most_heard = @most_of_a_whole
          send_body(body)
          @sent_at = Deadline.now
          whole
        end
      end

      # @return [Boolean] whether another request may be sent: also whether the peer still keeps the connection
      def reusable?
        @state == :idle && !@guard.locked? && ours? && (@kept_until == Float::INFINITY || Deadline.now < @kept_until)
      end

      # Looks at an idle connection, by one system call. One that is of no use is closed.
      # @return [Boolean] whether the peer has closed it, or has sent bytes that belong to no request
      def stale?
        return true unless reusable?

        @stream.stale?.tap { |stale| close if stale }
      end

      # @return [Boolean] whether a byte of the last answer has come
      def received? = @received

      # @return [Boolean] whether a byte of the last request was given to the kernel
      def sent? = @sent

      # @return [Boolean] also after {#detach}
      def closed? = @state == :closed || @state == :detached

      # A thread that waits on it gets {ConnectionClosed}, and then closes the descriptor: a number that is closed under a waiter
      # may be given to the next connection.
      def close
        return if closed?

        @state = :closed
        @guard.locked? && ours? ? shut_down : @stream.close
      end

      # Closes our descriptor of a connection that another process goes on using, such as a fork.
      def abandon
        return if closed?

        @state = :closed
        @stream.abandon
      end

      # Gives the connection away, to be used for another protocol.
      # @return [Array(BasicSocket or Io::TLS::Socket, String)] it, and the bytes behind the answer that were received already
      # @raise [UsageError]
      def detach
        misuse!(:in_use) if @guard.locked?
        misuse!(:detach) unless %i[idle tunnel].include?(@state)

        @state = :detached
        [io, @parser.rest]
      end

      def inspect = "#<Plait::HTTP::Wire #{endpoint}#{" closed" if closed?}>"

      private

      def ours? = @generation == Native.fork_generation

      def exchange(state)
        locked = nil
        Uninterruptible.run { locked = @guard.try_lock } # an interrupt where it returns would leave it locked
        misuse!(:in_use) unless locked
        entered = enter(state)
        value = yield
        finished = true
        value
      ensure
        leave(entered && !finished) if locked
      end

      def enter(state)
        misuse!(WAITING.fetch(@state)) if @state != state && WAITING.key?(@state)
        raise closed_before if @state != state
        raise forked unless ours?

        @started = Deadline.now unless state == :streaming
        true
      end

      # Closed after the unlocking: another thread that closes it either sees it locked, and leaves the rest to this one, or has
      # it alone.
      def leave(early)
        @state = :closed if early
        @guard.unlock
      ensure
        @stream.close if @state == :closed
      end

      def become(state) = (@state = state unless @state == :closed)

      def shut_down
        io.to_io.shutdown(Socket::SHUT_RDWR)
      rescue IOError, SystemCallError
        nil # it has ended already
      end

      # @param deadline [Float, nil] monotonic seconds
      def set_clock(timeouts, deadline)
        @timeouts = timeouts
        @ends = timeouts ? timeouts.ends(deadline, @started) : deadline
        in_time(:send)
      end

      # @param phase [Symbol] :send, :first_byte or :read
      # @return [Float, nil] when a wait that begins now must be over
      def limit(phase)
        own = phase == :first_byte ? after(@sent_at, @timeouts&.first_byte) : after(Deadline.now, piece_seconds(phase))
        Timeouts.earlier(own, @ends)
      end

      def piece_seconds(phase) = phase == :send ? @timeouts&.write : @timeouts&.read

      def after(start, seconds) = seconds && (start + seconds)

      # A peer that never lets us wait meets the end of the whole all the same.
      def in_time(phase) = (raise too_late(phase, @ends) if @ends && Deadline.now >= @ends)

      # @param at [Float] the limit that was reached
      def too_late(phase, at) = late(phase, @timeouts, at == @ends)

      # @!group Sending. While a long request waits for the peer to take more, the peer is listened to: it may have answered
      #   already (413, say), and then it will not take the rest.

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

        @listened_at = 0.0
        body.each do |piece|
          listen_between
          break if @stopped

          send_bytes(piece)
        end
      end

      # A peer that takes all that comes never lets us wait.
      def listen_between
        now = Deadline.now
        return if @deaf || @stopped || now - @listened_at < LISTEN

        @listened_at = now
        listen
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
      rescue *Io::Channel::BREAKS => e
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

      def await(way, seconds) = @deaf ? io.to_io.public_send(way, seconds) : io.to_io.wait(seconds, :read_write)

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
    private_constant :PureWire
  end
end
