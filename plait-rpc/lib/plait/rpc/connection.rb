# frozen_string_literal: true

require_relative "connection/followers"
require_relative "future"
require_relative "incoming"
require_relative "lock"
require_relative "native_line"
require_relative "pure_line"
require_relative "../protocols/messagepack_rpc"
require "plait/io/native"
require "plait/values/errors"

module Plait
  module RPC
    # One connection, in both roles: calls of ours and their answers, requests of the peer and ours. Any number of threads and
    # fibers share it.
    #
    # Of those who wait for an answer one reads for all: what he finds he gives to whom it belongs, and when he leaves, another
    # one takes over. There is no thread and no fiber besides theirs, and at rest the connection is a descriptor and a few
    # hundred bytes. Where a dispatcher says that it `reads?`, a server does, and those who wait only sleep.
    class Connection
      # Answers the last request first, whichever was done first. Neovim before 0.10 closes a channel that answers nested
      # requests in another order: it only looks for the request it has sent last. (So, with such a peer, one thread at a time
      # should make calls that lead it to call back.)
      class Order
        def initialize
          @lock = Mutex.new
          @requests = []
          @answers = {}
        end

        # @param id [Integer] of a request that has come
        # @return [void]
        def enter(id) = @lock.synchronize { @requests << id }

        # @param id [Integer]
        # @yield sends the answer: at once, or when those to all later requests are sent
        # @return [void]
        def settle(id, &answer)
          @lock.synchronize do
            @answers[id] = answer
            @answers.delete(@requests.pop).call while @answers.key?(@requests.last)
          end
        end
      end
      private_constant :Order

      # Bytes that may wait for a peer who doesn't read, before who has more to say has to wait too.
      OUTBOX = 1024 * 1024

      LIMITS = Protocols::MessagePackRPC.limits
      # Interrupts are held back where something is between two hands.
      NEVER = { Object => :never }.freeze
      private_constant :LIMITS, :NEVER

      # What the peer takes is not known: as much as is taken here, or as Plait takes where nothing is said.
      # @param limits [Protocols::MessagePackRPC::Limits]
      # @return [Integer] bytes of a value to be sent
      # @api private
      def self.largest(limits)
        [limits.message - (LIMITS.message - Protocols::MessagePackRPC::Codec::LARGEST), Protocols::MessagePackRPC::Codec::LARGEST].max
      end

      # @param socket [BasicSocket, Io::TLS::Socket]
      # @return [Class<NativeLine>, Class<PureLine>]
      # @api private
      def self.line_for(socket) = socket.is_a?(BasicSocket) && Native.available? ? NativeLine : PureLine

      # @param endpoint [Io::Endpoint] udp://
      # @return [String] for an exception
      # @api private
      def self.no_datagrams(endpoint)
        "#{endpoint}: MessagePack-RPC needs a connection, and datagrams have none. Use tcp://, unix:// or tls://"
      end

      # @return [Io::Endpoint, String, nil] with whom
      attr_reader :endpoint
      # @return [Protocols::MessagePackRPC::Codec]
      attr_reader :codec
      # @return [Object, nil] the owner's own word about this peer
      attr_accessor :session

      # @param socket [BasicSocket, Io::TLS::Socket] connected; the connection's own from now on
      # @param endpoint [Io::Endpoint, String, nil] for messages
      # @param codec [Protocols::MessagePackRPC::Codec, nil]
      # @param limits [Protocols::MessagePackRPC::Limits] of what the peer sends
      # @param dispatcher [#take, nil] what becomes of the peer's requests and notifications
      # @param outbox [Integer] bytes, see OUTBOX
      # @param raw [Boolean] for an old peer: method names as raw bytes. (How values are packed is the codec's business.)
      # @param lifo [Boolean] answers to the peer's requests leave in the reverse order of these, see {Order}
      # @param line [Class<NativeLine>, Class<PureLine>] what looks after the socket
      def initialize(socket, endpoint: nil, codec: nil, limits: LIMITS, dispatcher: nil, outbox: OUTBOX, raw: false,
                     lifo: false, line: Connection.line_for(socket))
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

      # @!group Calls

      # For all connections, since few need one.
      FOUNDING = Lock.new
      private_constant :FOUNDING

      # Sends a request and waits for its answer. When it is left early (a kill, a cancellation) the answer reaches nobody.
      # @param method [String, Symbol]
      # @param arguments [Array]
      # @param limit [Float, nil] monotonic seconds by which the answer must be there
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
      # @param method [String, Symbol]
      # @param arguments [Array]
      # @param limit [Float, nil] monotonic seconds by which the answer must be there
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

      # As {call}, of many: they leave together.
      # @param method [String, Symbol]
      # @param lists [Array<Array>] the arguments of each
      # @param limit [Float, nil] monotonic seconds by which the answers must be there
      # @return [Array<Future>] fewer, if the connection ends meanwhile and some were sent: the values of these tell
      # @raise (see #call)
      def call_many(method, lists, limit: nil)
        futures = []
        lists.map { |arguments| @codec.pack(arguments) }.each { |params| say(futures, method, params, limit) }
        @line.send_off(limit) || raise(late_to_send(nil))
        futures
      rescue ConnectionClosed, RemoteProtocolError
        futures.any?(&:lost?) ? futures : raise
      end

      # As {call_many}, of calls whose results are wanted together.
      # @param method [String, Symbol]
      # @param lists [Array] the arguments of each, or its only argument
      # @param limit [Float, nil] monotonic seconds by which the answers must be there
      # @return [Volley, NativeVolley]
      # @raise (see #call)
      # @api private
      def volley(method, lists, limit: nil)
        return pure_volley(method, lists, limit) unless @line.respond_to?(:fire)

        volley = NativeVolley.new(self, method, limit)
        said = @line.fire(volley, @codec, lists, limit)
        said ? volley : raise(late_to_send(said))
      rescue ConnectionClosed, RemoteProtocolError
        volley&.lost? ? volley : raise # it tells what is known of it
      end

      # Sends a notification, to which there is no answer.
      # @param method [String, Symbol]
      # @param arguments [Array]
      # @param limit [Float, nil] monotonic seconds until which it may wait for a peer that reads slowly
      # @return [void]
      # @raise (see #call)
      def notify(method, arguments, limit: nil)
        said = @line.notify(method, @codec.pack(arguments), limit)
        said || raise(late_to_send(said))
      end

      # Nobody wants the answer any more: it is dropped when it comes.
      # @param future [Future]
      # @return [Boolean] whether it was still to come
      def drop(future) = @line.drop(future, false)

      # Waits until the future is settled.
      # @param future [Future]
      # @param limit [Float, nil] monotonic seconds; the future's own holds too
      # @return [Boolean] false when the time was up before
      # @raise [ConnectionClosed, RemoteProtocolError]
      # @api private
      def await_answer(future, limit = nil)
        moment = [future.limit, limit].compact.min
        return true if aside { @line.await(future, moment) }

        @line.drop(future, true) if future.limit && moment == future.limit
        future.settled?
      end

      # Has the block called when the future is settled, by a thread of the connection's.
      # @param future [Future]
      # @return [void]
      # @api private
      def follow(future, &block)
        aside { nil } if @served # its server shall read from it, however much there is to do
        (@followers || found_followers).add(future, &block)
      end

      # @return [Integer] calls without an answer
      def pending = @line.pending

      # @!group Answers

      # @param id [Integer] of the peer's request
      # @param result [Object]
      # @param flush [Boolean] false: who calls sees to it that {#flush} is called soon
      # @return [void]
      # @raise [Protocols::MessagePackRPC::PackError] nothing was sent
      def respond(id, result, flush: true)
        packed = @codec.pack(result)
        in_order(id) { @line.answer(id, packed, flush) }
      end

      # @param id [Integer] of the peer's request
      # @param error [Object] what the peer is told
      # @param data [Object] more about it, for peers that expect that in the place of the result
      # @param flush [Boolean] see {#respond}
      # @return [void]
      # @raise [Protocols::MessagePackRPC::PackError] nothing was sent
      def respond_error(id, error, data = nil, flush: true)
        packed = @codec.pack(error)
        about = @codec.pack(data) unless data.nil?
        in_order(id) { @line.refuse(id, packed, about, flush) }
      end

      # @!group Serving

      # Receives what is there, 64 KiB at most (1 MiB of a large string), and hands it on. Never waits. One at a time.
      # @return [Symbol] :idle, nothing is half received; :partial, something is; :full, the dispatcher has no room: what is
      #   here is handed on by the next call; :closed
      def read_available = Thread.handle_interrupt(NEVER) { @line.read_available }

      # @param stint [Server::WorkerPool::Stint] whose visit is paid; it keeps what the visit has left
      # @param deadline [Deadline, nil] by which it is over, if it is anything but silent
      # @return [void]
      # @api private
      def visit(stint, deadline, &watch)
        stint.slow = stint.visit.pay(@line, deadline&.at, &watch)
      end

      # Stays, so that there is always somebody who reads, until the connection is closed.
      # @return [void]
      # @raise [ConnectionClosed, RemoteProtocolError] when it is
      def run = @line.run

      # Sends what the peer takes, without waiting.
      # @return [Boolean] whether that is all
      def flush = @line.flush

      # @return [Integer] bytes that wait for the peer to read
      def unsent = @line.unsent

      # @return [Boolean] whether somebody sends in this moment, who will see to what is left
      def sending? = @line.sending?

      # @return [Integer] bytes given to the kernel, ever
      def sent = @line.sent

      # @return [Integer] bytes taken from it, ever
      def received = @line.received

      # @return [Boolean] whether that is so much that nothing should be added
      def congested? = @line.congested?

      # @!group State

      # @return [Boolean] whether nothing is under way, in either direction
      def idle? = @line.idle?

      # @return [Boolean] whether calls can be made: it is not over, and of this process
      def usable? = @line.usable?

      # Takes what has come, where nobody reads, without waiting.
      # @return [void]
      def look = @line.look

      # @return [Boolean]
      def closed? = !@line.over.nil?

      # Closes it. Who waits for an answer gets {ConnectionClosed}. In a fork, the parent's goes on.
      # @param reason [String, Exception]
      # @return [void]
      def close(reason = "was closed on this side") = @line.finish(reason)

      # @return [String]
      def inspect = "#<#{self.class} #{@endpoint} #{closed? ? "closed" : "#{pending} pending"}>"

      # @!group For the line

      # Requests that are taken at once, however much there is to do.
      PLENTY = 1024
      private_constant :PLENTY

      # @return [Boolean] whether the dispatcher can take a request; always, while a call of ours waits for its answer
      # @api private
      def room? = @dispatcher.nil? || @dispatcher.room?(self) || read_anyway?

      # @return [Boolean] as {#room?}, for a request that is here: nobody else gets its place
      # @api private
      def place? = @dispatcher.nil? || @dispatcher.place?(self) || read_anyway?

      # @return [Integer] how many requests may be taken before it is asked again, see {#room?}
      # @api private
      def places = read_anyway? ? PLENTY : @dispatcher.places(self)

      # @return [Boolean] whether a call of ours waits for its answer
      # @api private
      def read_anyway? = pending.positive?

      # Requests and notifications of the peer that came at once.
      # @param batch [NativeBatch]
      # @return [void]
      # @api private
      def arrived_together(batch) = @dispatcher.take_together(batch)

      # One of those, for who needs to know more of it.
      # @return [Incoming]
      # @api private
      def incoming(id, method_name, params, arguments)
        Incoming.new(self, id, method_name, params, arguments).tap { |incoming| incoming.dispatcher = @dispatcher }
      end

      # A request, or a notification, of the peer.
      # @return [void]
      # @api private
      def arrived(id, method_name, params)
        @order&.enter(id) if id
        if @dispatcher
          take(Incoming.new(self, id, method_name, params))
        elsif id
          respond_error(id, "this client takes no requests: #{method_name}")
        end
      end

      # A future that is followed is settled.
      # @param future [Future]
      # @return [void]
      # @api private
      def due(future) = @followers.due(future)

      # Something is left to be sent, and the peer takes no more now.
      # @return [void]
      # @api private
      def unsent_left = @dispatcher.unsent(self)

      # What was promised to be sent, and nobody is there who does it. At the end of the process no thread can begin any more.
      # @return [void]
      # @api private
      def find_drainer
        return unless Thread.main.alive?

        Thread.new do
          @line.drain
        rescue Error
          nil # it is over
        end.name = "plait: sends what is left"
      end

      # @param reason [Exception, String]
      # @return [void]
      # @api private
      def ended(reason)
        @dispatcher&.closed(self, reason.is_a?(EOFError) || reason.is_a?(String) ? nil : reason)
      ensure
        @followers&.close
      end

      # @!group Errors

      # @param reason [Exception, String] why the connection is over: an error of the socket or the protocol; a String: what
      #   was done here
      # @param retry_safe [Boolean] whether nothing of what was asked can have been run
      # @param about [String] what was asked, for the message
      # @return [Plait::Error]
      # @api private
      def complaint(reason, retry_safe: true, about: "the call")
        fate = retry_safe ? "#{about} was not sent" : "#{about} has no answer, and may have run"
        return broken(reason, fate, retry_safe) if reason.is_a?(RemoteProtocolError)

        ConnectionClosed.new("#{ending(reason)}: #{fate}", endpoint: @endpoint, retry_safe: retry_safe)
      end

      # @param future [Future]
      # @return [ReadTimeout]
      # @api private
      def late_answer(future)
        ReadTimeout.new("#{peer} did not answer #{future.method_name} in time", endpoint: @endpoint)
      end

      # @return [UsageError]
      # @api private
      def reads_here
        UsageError.new("#{peer} can't be waited for here: this thread reads its answers already, below a signal handler or " \
                       "in another fiber. Call it from a thread of its own: trap(:TERM) { Thread.new { client.call(...) } }")
      end

      private

      # Small arguments are packed on the way.
      def exchange(future, arguments, limit)
        done = @line.ask(future, arguments, limit) if @small
        done.nil? ? @line.exchange(future, @codec.pack(arguments), limit) : done
      end

      def pure_volley(method, lists, limit)
        Volley.new(call_many(method, lists.map { |list| list.is_a?(Array) ? list : [list] }, limit: limit))
      end

      def say(futures, method, params, limit)
        future = Future.new(self, method, limit)
        said = @line.call(future, params, limit, false)
        said ? futures << future : raise(late_to_send(said))
      end

      # (An end that comes meanwhile may have missed them.)
      def found_followers
        FOUNDING.exclusively { @followers ||= Followers.new(@line, reads: !@served) }
        @followers.close if closed?
        @followers
      end

      def pack(arguments) = @small&.pack(arguments) || @codec.pack(arguments)

      # Where a server reads, who waits is not busy.
      def aside(&wait) = @dispatcher.respond_to?(:aside) ? @dispatcher.aside(self, &wait) : yield

      def in_order(id, &answer) = @order ? @order.settle(id, &answer) : yield

      # Who reads for a server has held interrupts back already, see {#read_available}.
      def take(incoming)
        @served ? @dispatcher.take(incoming) : Thread.handle_interrupt(NEVER) { @dispatcher.take(incoming) }
      end

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

      # @param said [false, nil] nil: it will still be sent, if the peer ever reads
      def late_to_send(said)
        WriteTimeout.new("#{peer} does not take what is sent in time", endpoint: @endpoint, retry_safe: said == false)
      end

      def peer = @endpoint || "the peer"
    end
    private_constant :Connection
  end
end
