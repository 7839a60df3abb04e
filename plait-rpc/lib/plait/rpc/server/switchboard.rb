# frozen_string_literal: true

require "plait/io/reactor"

module Plait
  module RPC
    class Server
      # The server's record of a connection. It is changed under the server's lock.
      class Peer
        # @return [Connection, nil] nil: it is being made
        attr_accessor :connection
        # @return [Integer] requests and notifications that wait or run
        attr_accessor :in_flight
        attr_writer :promised
        # @return [Integer] requests without an answer
        attr_accessor :owed
        # @return [Boolean] whether a worker reads from it
        attr_accessor :attended
        # @return [Boolean] whether that worker should read once more
        attr_accessor :again
        # @return [Symbol, nil] why nothing is read from it: :own, it has enough in flight; :crowd, all together have; :unread,
        #   it does not read its answers
        attr_accessor :halted
        # @return [Array<Incoming, NativeBatch>, nil] requests that wait until it reads its answers
        attr_accessor :held
        # @return [Incoming, NativeBatch, nil] the notifications that run, or are the next: no others of this peer run
        attr_accessor :telling
        # @return [Array<Incoming, NativeBatch>, nil] the notifications behind them
        attr_accessor :news
        # @return [Boolean] whether a message has come since its time began
        attr_accessor :fresh
        # @return [Boolean, Integer, nil] true: it has shown the secret; else how often it has tried
        attr_accessor :admitted

        # Three variables have room in the object itself; others are made when a message comes.
        def initialize
          @connection = nil
          @in_flight = @owed = 0
        end

        # @return [Integer] places in the backlog that its reader may fill
        def promised = @promised || 0

        # @param batch [NativeBatch] that came from it
        def take(batch)
          @fresh = true
          @owed += batch.requests
          @in_flight += batch.requests + batch.notifications
        end

        # @param bytes [Integer] received or sent since the connection began
        # @param enough [Integer] bytes within its time
        # @return [Boolean] whether its time begins again
        def moved?(bytes, enough)
          return false if @mark && bytes - @mark < enough

          @fresh = false
          @mark = bytes
          true
        end

        # @return [IO] for the reactor
        def to_io = @connection.to_io

        # @return [Boolean] whether it waits for anything
        def busy? = @in_flight.positive? || @owed.positive? || @connection.pending.positive? || @connection.unsent.positive?
      end

      # The connections: which of them send, may send nothing more for now, or were silent for too long. An idle one costs its
      # place in the reactor.
      #
      # One worker attends to a connection at a time. While none does, the connection is armed: for reading, unless it is halted,
      # and for writing, while it has unsent bytes.
      class Switchboard
        READABLE = Io::Reactor::READABLE
        WRITABLE = Io::Reactor::WRITABLE
        # Queues of the reactor: between two messages, inside one, and while the peer does not read.
        IDLE = 0
        PARTIAL = 1
        STALLED = 2

        attr_reader :reactor
        # @return [Float] monotonic seconds of the last {#flush}
        attr_reader :flushed
        # @return [Array<Peer>] that a worker should attend to
        attr_reader :resumed

        # @return [Array<Array, Hash>] empty while there is nothing to do but to wait
        def duties = [@resumed, @gathered]

        # @return [Deadline, nil] of the next look for connections that were silent for too long
        attr_reader :sweep

        # @param timeouts [Hash{Integer => Numeric}] seconds, by queue
        def initialize(lock, backlog, timeouts)
          @lock = lock
          @backlog = backlog
          @timeouts = timeouts
          @reactor = Io::Reactor.new
          @peers = {}.compare_by_identity
          @gathered = {}.compare_by_identity # connections with unsent answers
          @crowd = {}.compare_by_identity
          @resumed = []
          @flushed = 0.0
          @sweep = next_sweep
        end

        def size = @peers.size

        def peers = @lock.exclusively { @peers.keys }

        # @param peer [Peer] with its connection
        def admit(peer)
          @lock.exclusively do
            @peers[peer] = true
            @reactor.add(peer, peer)
          end
        end

        # Waits for messages.
        # @return [Array<Peer>] that send
        def wait
          peers = @reactor.wait(@sweep)
          sweep_out
          peers || []
        end

        # Ends connections that were silent for too long, when it is time for a look.
        def sweep_out
          return unless @sweep&.expired?

          @timeouts.each do |queue, seconds|
            @reactor.expire(queue, Deadline.now - seconds).each { |peer| expire(peer, queue, seconds) }
          end
          @sweep = next_sweep
        end

        # Sends and receives without waiting. If a worker does already, it does so once more.
        # @return [Boolean] false: another worker does, and has not done so yet
        def attend(peer)
          return false unless @lock.exclusively { take_hold(peer) }

          attending = true
          while attending
            state = serve(peer)
            attending = @lock.exclusively { again?(peer, state) }
          end
          true
        ensure
          @lock.exclusively { peer.attended = false } if attending # it was left early
        end

        # Under the lock: no other worker attends to it from now on.
        # @return [Boolean] false: another worker does already
        def take_hold(peer)
          return peer.attended = true unless peer.attended

          peer.again = true
          false
        end

        # By the worker that attends to it.
        # @return [Symbol] as Connection#read_available
        def serve(peer)
          connection = peer.connection
          Thread.pass if connection.sending? # the sending thread needs the GVL to go on
          connection.flush if connection.unsent.positive?
          connection.read_available
        end

        # Under the lock: the worker that attends to it leaves it.
        # @param state [Symbol, nil] as Connection#read_available; nil: it was left early
        def release(peer, state)
          return unless state.nil? || again?(peer, state)

          peer.attended = false
          @resumed << peer
        end

        # Under the lock: the connection's answers wait for others, to be sent together.
        def gather(connection) = @gathered[connection] = true

        # (It may be a little behind.)
        def gathered? = !@gathered.empty?

        # Sends gathered answers.
        def flush
          @flushed = Deadline.now
          return if @gathered.empty?

          connections = @lock.exclusively { @gathered.keys.tap { @gathered.clear } }
          connections.each { |connection| send_to(connection) }
        end

        # Sends what the peer takes.
        def send_to(connection) = connection.flush || unsent(connection.session)

        # The peer does not take all bytes.
        # @return [Boolean] whether a worker has to attend to peers
        def unsent(peer)
          @lock.exclusively do
            arm(peer, peer.halted ? :full : :idle) if @peers.key?(peer) && !peer.attended
            @resumed.any?
          end
        end

        # Under the lock: one of its requests is over.
        def relieve(peer)
          resume(peer) if peer.halted == :own && !@backlog.much_of?(peer)
          let_in
        end

        # Under the lock: there may be room for peers that were halted as a crowd.
        def let_in
          return if @crowd.empty? || !@backlog.low?

          @crowd.each_key { |one| resume(one) }
          @crowd.clear
        end

        # Under the lock: a method waits for this peer's answer.
        def listen_to(peer) = peer.halted && resume(peer)

        # The connection is over, and its descriptor is about to be closed.
        # @return [Boolean] whether a worker has to attend to other peers, which have room now
        def remove(peer)
          @lock.exclusively do
            next false unless @peers.delete(peer)

            @reactor.remove(peer) unless @reactor.closed?
            @gathered.delete(peer.connection)
            @crowd.delete(peer)
            @backlog.abandon(peer)
            let_in
            @resumed.any?
          end
        end

        # Ends the leader's wait; from any thread or signal handler.
        def wake = @reactor.wake

        def close = @reactor.close

        # Bytes after which half a message gets the time for a message again; raising it ends slow senders earlier.
        PROGRESS = 64 * 1024

        private

        # @return [Boolean] whether the worker reads once more; else it has left the peer
        def again?(peer, state)
          @backlog.release(peer) if waiting?(peer) # reading may have sent its answers too
          return !(peer.again = false) if peer.again && state != :closed

          peer.attended = false
          return false if state == :closed || !@peers.key?(peer)
          return peer.attended = true if state == :full && !halt(peer)

          arm(peer, state)
          false
        end

        # @return [Boolean] whether its requests were held back, and it has read its answers now
        def waiting?(peer) = peer.held && !peer.connection.congested?

        # @return [Symbol, nil] nil: there is room again
        def halt(peer)
          return peer.halted = :unread if peer.connection.congested?
          return peer.halted = :own if @backlog.much_of?(peer)
          return if @backlog.low?

          @crowd[peer] = true
          peer.halted = :crowd
        end

        def resume(peer)
          peer.halted = nil
          @resumed << peer
        end

        def arm(peer, state)
          peer.halted = nil unless state == :full
          unsent = peer.connection.unsent.positive?
          return resume(peer) if overlooked?(peer) || (state != :full && peer.connection.buffered?)

          events = (state == :full ? 0 : READABLE) | (unsent ? WRITABLE : 0)
          queue = queue_for(state, unsent)
          @reactor.rearm(peer, events, queue, !progress?(peer, queue)) unless events.zero?
        rescue IOError
          nil # the connection was closed meanwhile
        end

        # The peer has read all answers just now: no event of the socket will come.
        def overlooked?(peer) = waiting?(peer) || (peer.halted == :unread && !peer.connection.congested?)

        def queue_for(state, unsent)
          return STALLED if unsent

          state == :partial ? PARTIAL : IDLE
        end

        # @return [Boolean] whether its time begins again
        def progress?(peer, queue)
          case queue
          when STALLED then peer.moved?(peer.connection.sent, 1)
          when PARTIAL then peer.moved?(peer.connection.received, peer.fresh ? 0 : PROGRESS)
          else true
          end
        end

        def next_sweep
          soonest = @timeouts.map { |queue, seconds| (@reactor.oldest(queue) || Deadline.now) + seconds }.min
          soonest && Deadline.new(soonest)
        end

        def expire(peer, queue, seconds)
          return @lock.exclusively { arm(peer, :idle) if @peers.key?(peer) } if queue == IDLE && peer.busy?

          what = { IDLE => "was idle for", PARTIAL => "sent half a message within", STALLED => "read nothing for" }.fetch(queue)
          peer.connection.close("#{what} #{format("%g", seconds)} s")
        end
      end
      private_constant :Peer, :Switchboard
    end
  end
end
