# frozen_string_literal: true

require_relative "connection/endings"
require_relative "connection/intake"
require_relative "connection/receiving"
require_relative "connection/roles"
require_relative "connection/sending"
require_relative "connection/waiter"
require_relative "future"
require_relative "wire"
require_relative "../protocols/messagepack_rpc"
require_relative "../values/errors"

module Plait
  module RPC
    # One connection, in both roles: calls of ours and their answers, requests of the peer and ours. Any number of threads and
    # fibers share it.
    #
    # Of those who wait for an answer one reads for all: what he finds he gives to whom it belongs, and when he leaves, another
    # one takes over. There is no thread and no fiber besides theirs, and at rest the connection is a descriptor and a few
    # hundred bytes. Where a dispatcher says that it `reads?`, a server does, and those who wait only sleep.
    class Connection
      include Endings
      include Intake
      include Receiving
      include Roles
      include Sending

      # Bytes that may wait for a peer who doesn't read, before who has more to say has to wait too.
      OUTBOX = 1024 * 1024

      LIMITS = Protocols::MessagePackRPC::Limits.new
      private_constant :LIMITS

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
      # @param wire [#over] what moves the bytes, see {Wire}
      # @param raw [Boolean] for an old peer: method names as raw bytes. (How values are packed is the codec's business.)
      def initialize(socket, endpoint: nil, codec: nil, limits: LIMITS, dispatcher: nil, outbox: OUTBOX, raw: false,
                     wire: Wire)
        @endpoint = endpoint
        @codec = codec || Protocols::MessagePackRPC::Codec.new(raw: raw)
        @dispatcher = dispatcher
        @served = dispatcher.respond_to?(:reads?) && dispatcher.reads?
        @parser = Protocols::MessagePackRPC::Parser.new(limits: limits)
        @writer = Protocols::MessagePackRPC::Writer.new(raw: raw)
        @wire = wire.over(socket, @parser)
        @room = outbox
        @lock = Mutex.new
        @last_id = -1
        @reader = @resident = Waiter.new(nil) { false } if dispatcher && !@served
      end

      # @return [BasicSocket, Io::TLS::Socket]
      def io = @wire.io

      # @return [IO]
      def to_io = io.to_io

      # @!group Calls

      # Sends a request and waits for its answer. When it is left early (a kill, a cancellation) the answer reaches nobody.
      # @param method [String, Symbol]
      # @param arguments [Array]
      # @param limit [Float, nil] monotonic seconds by which the answer must be there
      # @return [Object]
      # @raise (see Future#value)
      # @raise (see #call)
      def request(method, arguments, limit: nil)
        future = Future.new(self, method, limit)
        params = @codec.pack(arguments)
        await_room(limit) if @unsent
        late(future) unless await(Waiter.new(limit, future)) { enter_call(future, params) }
        future.value
      ensure
        drop(future) unless future.nil? || future.settled?
      end

      # Sends a request, and doesn't wait for its answer.
      # @param method [String, Symbol]
      # @param arguments [Array]
      # @param limit [Float, nil] monotonic seconds by which the answer must be there
      # @return [Future]
      # @raise [Protocols::MessagePackRPC::PackError] nothing was sent
      # @raise [ConnectionClosed] it is over; nothing was sent
      # @raise [WriteTimeout] the peer takes nothing; nothing was sent
      def call(method, arguments, limit: nil)
        future = Future.new(self, method, limit)
        params = @codec.pack(arguments)
        send_frame(limit) { enter_call(future, params) }
        future
      end

      # Sends a notification, to which there is no answer.
      # @param method [String, Symbol]
      # @param arguments [Array]
      # @param limit [Float, nil] monotonic seconds until which it may wait for a peer that reads slowly
      # @return [void]
      # @raise (see #call)
      def notify(method, arguments, limit: nil)
        params = @codec.pack(arguments)
        send_frame(limit) { @over ? raise(complaint(@over, about: method.to_s)) : @writer.notification(method, params) }
      end

      # Nobody wants the answer any more: it is dropped when it comes.
      # @param future [Future]
      # @return [Boolean] whether it was still to come
      def drop(future)
        exclusively { !future.settled? && @calls&.delete(future.id) && future.settle(:cancelled) && true } || false
      end

      # @return [Integer] calls without an answer
      def pending = @calls&.size || 0

      # @!group Answers

      # @param id [Integer] of the peer's request
      # @param result [Object]
      # @param flush [Boolean] false: who calls sees to it that {#flush} is called soon
      # @return [void]
      # @raise [Protocols::MessagePackRPC::PackError] nothing was sent
      def respond(id, result, flush: true)
        packed = @codec.pack(result)
        answer(flush) { @writer.response(id, packed) }
      end

      # @param id [Integer] of the peer's request
      # @param error [Object] what the peer is told
      # @param data [Object] more about it, for peers that expect that in the place of the result
      # @param flush [Boolean] see {#respond}
      # @return [void]
      # @raise [Protocols::MessagePackRPC::PackError] nothing was sent
      def respond_error(id, error, data = nil, flush: true)
        packed = (data.nil? ? [error] : [error, data]).map { |value| @codec.pack(value) }
        answer(flush) { @writer.error(id, *packed) }
      end

      # Sends what the peer takes, without waiting.
      # @return [Boolean] whether that is all
      def flush
        exclusively { flush_now }.tap { |done| @dispatcher.unsent(self) if @served && !done }
      end

      # @return [Integer] bytes that wait for the peer to read
      def unsent = @wire.unsent + @writer.bytesize

      # @return [Boolean] whether that is so much that nothing should be added
      def congested? = @unsent ? unsent > @room : false

      # @return [Boolean] whether nothing is under way, in either direction
      def idle? = pending.zero? && !@unsent && @parser.idle?

      # @return [Boolean]
      def closed? = !@over.nil?

      # Closes it. Who waits for an answer gets {ConnectionClosed}.
      # @param reason [String, Exception]
      # @return [void]
      def close(reason = "was closed on this side")
        exclusively { finish(reason) }
      end

      # @return [String]
      def inspect = "#<#{self.class} #{@endpoint} #{closed? ? "closed" : "#{pending} pending"}>"

      # Waits until the future is settled.
      # @param limit [Float, nil] monotonic seconds; the future's own holds too
      # @return [Boolean] false when the time was up before
      # @api private
      def await_answer(future, limit = nil)
        moment = [future.limit, limit].compact.min
        return true if await(Waiter.new(moment, future))

        late(future) if future.limit && moment == future.limit
        future.settled?
      end

      # @api private
      def late_answer(future)
        ReadTimeout.new("#{peer} did not answer #{future.method_name} in time", endpoint: @endpoint)
      end

      private

      def late(future)
        exclusively { @calls&.delete(future.id) && future.settle(:late) unless future.settled? }
      end

      # @yield under the lock, to write it
      def send_frame(limit, &write)
        await_room(limit) if @unsent
        done = exclusively do
          write.call
          flush_soon
        end
        finish_sending(limit) unless done
      end

      # Where a server reads, who answers never waits for the peer.
      def answer(flush, &write)
        await_room(nil) if @unsent && !@served
        done = exclusively do
          next true if @over

          write.call
          flush ? flush_soon : true
        end
        finish_sending(nil) unless done
      end

      def finish_sending(limit) = @served ? @dispatcher.unsent(self) : drain(limit)
    end
  end
end
