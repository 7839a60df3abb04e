# frozen_string_literal: true

require_relative "followers"
require_relative "future"
require_relative "pure_line"

module Plait
  module RPC
    NativeRPC.define_line(self) if Native.available?

    # Calls, answers and readers of one socket, in C: plait-io/ext/plait_io/rpc/rb_rpc_line.h. PureLine, its twin, documents the
    # methods.
    class NativeLine
      # @return [String]
      def inspect = "#<#{self.class} #{pending} pending, #{unsent} bytes unsent>"
    end

    # One multiplexed connection, in both roles: our calls and their answers, the peer's requests and ours. Any number of
    # threads and fibers share it.
    #
    # How a call runs: {#request} packs the arguments, the line (NativeLine or PureLine) sends them, and one of the callers that
    # wait reads for all: it settles each answer's {Future}, and when it leaves, another caller takes over. There is no other
    # thread, and at rest the connection is a descriptor and a few hundred bytes. Where the dispatcher `reads?`, the server
    # reads, and callers sleep.
    class Connection
      # Answers the last request first, whichever was done first. Neovim before 0.10 closes a channel that answers nested
      # requests in another order: it only looks for its last request. (With such a peer, one thread at a time should make
      # calls that lead it to call back.)
      class Order
        def initialize
          @lock = Mutex.new
          @requests = []
          @answers = {}
        end

        # @param id [Integer] of the peer's request
        def enter(id) = @lock.synchronize { @requests << id }

        # @yield sends the answer: at once, or when all later requests are answered
        def settle(id, &answer)
          @lock.synchronize do
            @answers[id] = answer
            @answers.delete(@requests.pop).call while @answers.key?(@requests.last)
          end
        end
      end

      # Bytes that may wait for a peer that doesn't read; raising it lets callers add more before they wait too.
      OUTBOX = 1024 * 1024

      LIMITS = Protocols::MessagePackRPC.limits

      # The peer's limit is not known: it is taken for the one here, or for Plait's default if that is larger.
      # @param limits [Protocols::MessagePackRPC::Limits]
      # @return [Integer] bytes of a value to be sent
      # @api private
      def self.largest(limits)
        usual = Protocols::MessagePackRPC::Codec::LARGEST
        [limits.message - (LIMITS.message - usual), usual].max
      end

      # @param socket [IO, OpenSSL::SSL::SSLSocket]
      # @return [Class<NativeLine>, Class<PureLine>]
      # @api private
      def self.line(socket) = Native.available? && (socket.is_a?(::IO) || NativeTLS.found?) ? NativeLine : PureLine

      # @param endpoint [Io::Endpoint] udp://
      # @return [String] for an exception
      # @api private
      def self.no_datagrams(endpoint)
        "#{endpoint}: MessagePack-RPC needs a connection, and datagrams have none. Use tcp://, unix:// or tls://"
      end

      # @return [Io::Endpoint, String, nil] of the peer
      attr_reader :endpoint
      # @return [Protocols::MessagePackRPC::Codec]
      attr_reader :codec
      # @return [Object, nil] for the owner of the connection: its record of this peer
      attr_accessor :session

      # @param socket [BasicSocket, Io::TLS::Socket] connected; the connection closes it
      # @param endpoint [Io::Endpoint, String, nil] for messages
      # @param codec [Protocols::MessagePackRPC::Codec, nil]
      # @param limits [Protocols::MessagePackRPC::Limits] of what the peer sends
      # @param dispatcher [#take, nil] takes the peer's requests and notifications
      # @param outbox [Integer] bytes, see OUTBOX
      # @param raw [Boolean] for an old peer: method names as raw bytes (the codec packs values)
      # @param lifo [Boolean] whether the last request of the peer is answered first, see {Order}
      # @param line [Class<NativeLine>, Class<PureLine>]
      def initialize(socket, endpoint: nil, codec: nil, limits: LIMITS, dispatcher: nil, outbox: OUTBOX, raw: false,
                     lifo: false, line: Connection.line(socket))
        @endpoint = endpoint
        @codec = codec || Protocols::MessagePackRPC::Codec.new(raw: raw)
        @dispatcher = dispatcher
        @served = dispatcher.respond_to?(:reads?) && dispatcher.reads?
        @order = Order.new if lifo
        parser = Protocols::MessagePackRPC::Parser.new(limits: limits)
        @line = line.new(socket, parser, self, room: outbox, served: @served, raw: raw, plain: @codec.plain? && !raw,
                                               batches: @served && dispatcher.respond_to?(:take_together))
        @small = Protocols::MessagePackRPC::NativeSmall if !@served && @line.respond_to?(:fire) && @codec.plain?
      end

      # @return [BasicSocket, Io::TLS::Socket]
      def io = @line.io

      # @return [IO]
      def to_io = io.to_io

      # @!group Calls: `limit` is the moment by which the answer must be there, in monotonic seconds; nil: none

      # Sends a request and waits for its answer. If the caller leaves early (a kill, a cancellation), the answer is dropped.
      # @param method [String, Symbol]
      # @param arguments [Array]
      # @return [Object]
      # @raise (see Future#value)
      # @raise (see #call)
      def request(method, arguments, limit: nil)
        future = Future.new(self, method, limit)
        done = @dispatcher ? aside { exchange(future, arguments, limit) } : exchange(future, arguments, limit)
        done || future.settled? || raise(late_to_send(false))
        future.value
      end

      # Sends a request, and doesn't wait for its answer.
      # @return [Future]
      # @raise [Protocols::MessagePackRPC::PackError] nothing was sent
      # @raise [ConnectionClosed] it is over; nothing was sent
      # @raise [WriteTimeout] the peer takes nothing
      def call(method, arguments, limit: nil)
        future = Future.new(self, method, limit)
        said = @line.call(future, pack(arguments), limit, true)
        said || (drop(future) && raise(late_to_send(said)))
        future
      end

      # As {call}, of many: they leave together, and their results are there at once.
      # @param lists [Array] the arguments of each, or its only argument
      # @return [Batch, NativeCallBatch]
      # @raise (see #call)
      # @api private
      def batch(method, lists, limit: nil)
        return pure_batch(method, lists, limit) unless @line.respond_to?(:fire)

        batch = NativeCallBatch.new(self, method, limit)
        said = @line.fire(batch, @codec, lists, limit)
        said ? batch : raise(late_to_send(said))
      rescue ConnectionClosed, RemoteProtocolError
        batch&.lost? ? batch : raise # its values raise what is known
      end

      # Sends a notification, to which there is no answer.
      # @param limit [Float, nil] monotonic seconds until which it may wait for a peer that reads slowly
      # @raise (see #call)
      def notify(method, arguments, limit: nil)
        said = @line.notify(method, @codec.pack(arguments), limit)
        said || raise(late_to_send(said))
      end

      # Drops the answer when it comes.
      # @return [Boolean] whether it was still to come
      def drop(future) = @line.drop(future, false)

      # Waits until the future is settled.
      # @param limit [Float, nil] monotonic seconds; the future's own holds too
      # @return [Boolean] false when the time was up before
      # @raise [ConnectionClosed, RemoteProtocolError]
      # @api private
      def await_answer(future, limit = nil)
        own = future.limit
        moment = own && limit ? [own, limit].min : own || limit
        return true if @dispatcher ? aside { @line.await(future, moment) } : @line.await(future, moment)

        @line.drop(future, true) if own && moment == own
        future.settled?
      end

      # Calls the block when the future is settled, in a thread of the connection's.
      # @api private
      def follow(future, &block)
        aside { nil } if @served # so that its server reads from it, however much there is to do
        (@followers || found_followers).add(future, &block)
      end

      # @return [Integer] calls without an answer
      def pending = @line.pending

      # @param id [Integer] of the peer's request
      # @param result [Object]
      # @param flush [Boolean] false: the caller soon calls {#flush}
      # @raise [Protocols::MessagePackRPC::PackError] nothing was sent
      def respond(id, result, flush: true)
        packed = @codec.pack(result)
        @order ? @order.settle(id) { @line.answer(id, packed, flush) } : @line.answer(id, packed, flush)
      end

      # @param data [Object] more about the error, in the place of the result
      # @raise [Protocols::MessagePackRPC::PackError] nothing was sent
      def respond_error(id, error, data = nil, flush: true)
        packed = @codec.pack(error)
        about = @codec.pack(data) unless data.nil?
        @order ? @order.settle(id) { @line.refuse(id, packed, about, flush) } : @line.refuse(id, packed, about, flush)
      end

      # Receives 64 KiB at most (1 MiB of a large string) and hands requests on, without waiting. One call at a time.
      # @return [Symbol] :idle; :partial, half a message is here; :full, the dispatcher has no room, and the next call hands on
      #   what is here; :closed
      def read_available = Thread.handle_interrupt(NEVER) { @line.read_available }

      # Reads for all callers until the connection is closed.
      # @raise [ConnectionClosed, RemoteProtocolError] then
      def run = @line.run

      # Sends what the peer takes, without waiting.
      # @return [Boolean] whether that is all
      def flush = @line.flush

      # @return [Integer] bytes that wait for the peer to read
      def unsent = @line.unsent

      # @return [Boolean] whether another thread is sending, and sees to the rest
      def sending? = @line.sending?

      # @return [Integer] bytes given to the kernel since the connection began
      def sent = @line.sent

      # @return [Integer] bytes taken from it since then
      def received = @line.received

      # @return [Boolean] whether too many bytes are unsent to add more
      def congested? = @line.congested?

      # @return [Boolean] whether bytes of the peer may be here that the socket, which has given them to TLS, does not report
      # @api private
      def buffered? = @line.buffered?

      # @return [Boolean] whether nothing is under way, in either direction
      def idle? = @line.idle?

      # @return [Boolean] whether calls can be made: it is not over, and of this process
      def usable? = @line.usable?

      # Takes received bytes if there is no reader, without waiting.
      def look = @line.look

      # @return [Boolean]
      def closed? = !@line.over.nil?

      # Closes it: calls without an answer raise {ConnectionClosed}. In a fork, the parent's connection goes on.
      # @param reason [String, Exception]
      def close(reason = "was closed on this side") = @line.finish(reason)

      # @return [String]
      def inspect = "#<#{self.class} #{@endpoint} #{closed? ? "closed" : "#{pending} pending"}>"

      # @!group For the line

      # Requests that are taken at once, while a call of ours waits for its answer.
      PLENTY = 1024
      # One for all connections, since few need followers.
      FOUNDING = Lock.new
      private_constant :Order, :LIMITS, :PLENTY, :FOUNDING

      # @return [Boolean] whether the dispatcher can take a request; always, while a call of ours waits for its answer
      # @api private
      def room? = @dispatcher.nil? || @dispatcher.room?(self) || read_anyway?

      # @return [Boolean] as {#room?}, for a request that is here: its place is kept
      # @api private
      def place? = @dispatcher.nil? || @dispatcher.place?(self) || read_anyway?

      # @return [Integer] how many requests may be taken until the next call, see {#room?}
      # @api private
      def places = read_anyway? ? PLENTY : @dispatcher.places(self)

      # @return [Boolean] whether a call of ours waits for its answer
      # @api private
      def read_anyway? = pending.positive?

      # @param batch [NativeBatch] requests and notifications of the peer, of one receive
      # @api private
      def arrived_together(batch) = @dispatcher.take_together(batch)

      # @return [Incoming] one request of a batch
      # @api private
      def incoming(id, method_name, params, arguments)
        Incoming.new(self, id, method_name, params, arguments).tap { |incoming| incoming.dispatcher = @dispatcher }
      end

      # A request, or a notification, of the peer.
      # @api private
      def arrived(id, method_name, params)
        @order&.enter(id) if id
        if @dispatcher
          take(Incoming.new(self, id, method_name, params))
        elsif id
          respond_error(id, "this client takes no requests: #{method_name}")
        end
      end

      # A future with followers is settled.
      # @api private
      def due(future) = @followers.due(future)

      # Bytes are left that the peer does not take now.
      # @api private
      def unsent_left = @dispatcher.unsent(self)

      # Bytes are left, and no caller waits here to send them. At the end of the process no thread can begin any more.
      # @api private
      def find_drainer
        return unless Thread.main.alive?

        Thread.new do
          @line.drain
        rescue Error
          nil # the connection is over
        end.name = "plait: sends what is left"
      end

      # @param reason [Exception, String]
      # @api private
      def ended(reason)
        @dispatcher&.closed(self, reason.is_a?(EOFError) || reason.is_a?(String) ? nil : reason)
      ensure
        @followers&.close
      end

      # @param reason [Exception, String] why the connection is over: an error of the socket or the protocol; a String: what
      #   was done here
      # @param retry_safe [Boolean] whether the call can't have run
      # @param about [String] the call, for the message
      # @return [Plait::Error]
      # @api private
      def complaint(reason, retry_safe: true, about: "the call")
        fate = retry_safe ? "#{about} was not sent" : "#{about} has no answer, and may have run"
        return broken(reason, fate, retry_safe) if reason.is_a?(RemoteProtocolError)

        ConnectionClosed.new("#{ending(reason)}: #{fate}", endpoint: @endpoint, retry_safe: retry_safe)
      end

      # @return [ReadTimeout]
      # @api private
      def late_answer(future) = ReadTimeout.new("#{peer} did not answer #{future.method_name} in time", endpoint: @endpoint)

      # @return [UsageError]
      # @api private
      def reads_here
        UsageError.new("#{peer} can't be waited for here: this thread reads its answers already, below a signal handler or " \
                       "in another fiber. Call it from a thread of its own, and don't wait for that thread: " \
                       "trap(:TERM) { Thread.new { client.call(...) } }")
      end

      private

      # Small arguments are packed on the way.
      def exchange(future, arguments, limit)
        done = @line.ask(future, arguments, limit) if @small
        done.nil? ? @line.exchange(future, @codec.pack(arguments), limit) : done
      end

      # Fewer calls, if the connection ends meanwhile and some were sent.
      def pure_batch(method, lists, limit)
        futures = []
        lists.map { |list| @codec.pack(list.is_a?(Array) ? list : [list]) }.each do |params|
          future = Future.new(self, method, limit)
          said = @line.call(future, params, limit, false)
          said ? futures << future : raise(late_to_send(said))
        end
        @line.send_off(limit) || raise(late_to_send(nil))
        Batch.new(futures)
      rescue ConnectionClosed, RemoteProtocolError
        futures.any?(&:lost?) ? Batch.new(futures) : raise
      end

      # (They may have missed the connection's end.)
      def found_followers
        FOUNDING.exclusively { @followers ||= Followers.new(@line, reads: !@served) }
        @followers.close if closed?
        @followers
      end

      def pack(arguments) = @small&.pack(arguments) || @codec.pack(arguments)

      # A method that waits for an answer leaves its worker's place to another one.
      def aside(&wait) = @dispatcher.respond_to?(:aside) ? @dispatcher.aside(self, &wait) : yield

      # (A server's reader holds interrupts back already, see {#read_available}.)
      def take(incoming) = @served ? @dispatcher.take(incoming) : Thread.handle_interrupt(NEVER) { @dispatcher.take(incoming) }

      def broken(reason, fate, retry_safe)
        reason.exception("#{peer}: #{reason.message}; #{fate}").tap { |error| error.retry_safe = retry_safe }
      end

      def ending(reason)
        case reason
        when EOFError then "#{peer} closed the connection"
        when Exception then "the connection to #{peer} failed (#{reason.message})"
        else "the connection to #{peer} #{reason}"
        end
      end

      # @param said [false, nil] nil: it is sent when the peer reads again
      def late_to_send(said)
        WriteTimeout.new("#{peer} does not take what is sent in time", endpoint: @endpoint, retry_safe: said == false)
      end

      def peer = @endpoint || "the peer"
    end
    private_constant :NativeLine, :Connection
  end
end
