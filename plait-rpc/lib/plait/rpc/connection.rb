# frozen_string_literal: true

require_relative "connection/calls"
require_relative "connection/complaints"
require_relative "connection/events"
require_relative "connection/order"
require_relative "line"
require_relative "../protocols/messagepack_rpc"

module Plait
  module RPC
    # One connection, in both roles: calls of ours and their answers, requests of the peer and ours. Any number of threads and
    # fibers share it.
    #
    # Of those who wait for an answer one reads for all: what he finds he gives to whom it belongs, and when he leaves, another
    # one takes over. There is no thread and no fiber besides theirs, and at rest the connection is a descriptor and a few
    # hundred bytes. Where a dispatcher says that it `reads?`, a server does, and those who wait only sleep.
    class Connection
      include Complaints
      include Calls
      include Events

      # Bytes that may wait for a peer who doesn't read, before who has more to say has to wait too.
      OUTBOX = 1024 * 1024

      LIMITS = Protocols::MessagePackRPC::Limits.new
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
                     lifo: false, line: Line.for(socket))
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

      # @param stint [Server::Crew::Stint] whose visit is paid; it keeps what the visit has left
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

      private

      def in_order(id, &answer) = @order ? @order.settle(id, &answer) : yield
    end
  end
end
