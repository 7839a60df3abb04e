# frozen_string_literal: true

require "plait/io/reactor"
require "plait/values/deadline"

module Plait
  module RPC
    class Server
      # What the server knows of a connection. All of it is changed under the server's lock.
      class Peer
        # @return [Connection, nil] nil: it is being made
        attr_accessor :connection
        # @return [Integer] requests and notifications that wait or are being run
        attr_accessor :in_flight
        attr_writer :promised
        # @return [Integer] requests without an answer
        attr_accessor :owed
        # @return [Boolean] whether somebody reads from it now
        attr_accessor :attended
        # @return [Boolean] whether something has happened to it meanwhile
        attr_accessor :again
        # @return [WorkerPool::Stint, nil] of the leader who reads from it, and offers to run what he finds
        attr_accessor :stint
        # @return [Symbol, nil] why nothing is read from it: :own, it has enough in flight; :crowd, all together have
        attr_accessor :halted
        # @return [Array<Incoming, NativeBatch>, nil] requests that wait until it reads what it was sent
        attr_accessor :held
        # @return [Incoming, NativeBatch, nil] the notifications that are run, or are the next: no others of this peer are
        attr_accessor :telling
        # @return [Array<Incoming, NativeBatch>, nil] those that wait for them
        attr_accessor :news
        # @return [Integer, nil] bytes that had been received or sent when its time began
        attr_accessor :mark
        # @return [Boolean] whether a message has come since then
        attr_accessor :fresh
        # @return [Boolean, Integer, nil] true: it has shown the secret; else how often it has tried
        attr_accessor :admitted

        # Three variables have room in the object itself; further ones are made when something comes from it.
        def initialize
          @connection = nil
          @in_flight = @owed = 0
        end

        # @return [Integer] places in the backlog that who reads from it may fill
        def promised = @promised || 0

        # @param batch [NativeBatch] that came from it
        def take(batch)
          @fresh = true
          @owed += batch.requests
          @in_flight += batch.requests + batch.notifications
        end

        # @param bytes [Integer] received or sent, ever
        # @param enough [Integer] of them within its time
        # @return [Boolean] whether its time begins anew
        def moved?(bytes, enough)
          return false if @mark && bytes - @mark < enough

          @fresh = false
          @mark = bytes
          true
        end

        # @return [IO] for the reactor
        def to_io = @connection.to_io

        # @return [Boolean] whether there is something to be done for it yet
        def busy?
          @in_flight.positive? || @owed.positive? || @connection.pending.positive? || @connection.unsent.positive?
        end
      end

      # The connections with answers that wait to be sent together. Used under the server's lock, but for {#any?}, which may be
      # a little behind.
      class Gathered
        def initialize
          @connections = {}.compare_by_identity
        end

        def any? = !@connections.empty?

        def add(connection) = @connections[connection] = true

        def delete(connection) = @connections.delete(connection)

        # @return [Array<Connection>] all of them, which are forgotten by that
        def take
          connections = @connections.keys
          @connections.clear
          connections
        end
      end

      # The connections: who has something to say, who has to wait before he may say more, and who has been silent for too
      # long. Idle ones are in the reactor, and cost what they need to be known.
      #
      # One worker attends to a connection at a time. While nobody does, it is armed: for reading, unless it is halted, and for
      # writing, while there are bytes that it has not taken.
      class Switchboard
        READABLE = Io::Reactor::READABLE
        WRITABLE = Io::Reactor::WRITABLE
        # Queues of the reactor: between two messages, inside of one, and while the peer does not read.
        IDLE = 0
        PARTIAL = 1
        STALLED = 2

        # @return [Io::Reactor]
        attr_reader :reactor
        # @return [Float] monotonic seconds: when answers were sent last
        attr_reader :flushed
        # @return [Array<Peer>] from whom it may be read again: a worker shall attend to them
        attr_reader :resumed
        # @return [Deadline, nil] when it is to be seen who has been silent for too long
        attr_reader :sweep

        # @param timeouts [Hash{Integer => Numeric}] seconds, by queue
        def initialize(lock, backlog, timeouts)
          @lock = lock
          @backlog = backlog
          @timeouts = timeouts
          @reactor = Io::Reactor.new
          @peers = {}.compare_by_identity
          @dirty = Gathered.new
          @crowd = {}.compare_by_identity
          @resumed = []
          @flushed = 0.0
          @sweep = next_sweep
        end

        # @return [Integer]
        def size = @peers.size

        # @return [Array<Peer>]
        def peers = @lock.exclusively { @peers.keys }

        # @param peer [Peer] with its connection
        def admit(peer)
          @lock.exclusively do
            @peers[peer] = true
            @reactor.add(peer, peer)
          end
        end

        # Waits until somebody has something to say.
        # @return [Array<Peer>]
        def wait
          peers = @reactor.wait(@sweep)
          sweep_out if @sweep&.expired?
          peers || []
        end

        # Sends what it takes and receives what is there, unless somebody does already, who then does it once more.
        def attend(peer)
          return unless @lock.exclusively { take_hold(peer) }

          attending = true
          while attending
            state = serve(peer)
            attending = @lock.exclusively { again?(peer, state) }
          end
        ensure
          @lock.exclusively { peer.attended = false } if attending # it was left early
        end

        # Under the lock: nobody else attends to it from now on.
        # @return [Boolean] false: somebody does already
        def take_hold(peer)
          return peer.attended = true unless peer.attended

          peer.again = true
          false
        end

        # By who has taken hold of it.
        # @return [Symbol] as Connection#read_available
        def serve(peer)
          connection = peer.connection
          Thread.pass if connection.sending? # who does needs the GVL to go on
          connection.flush if connection.unsent.positive?
          connection.read_available
        end

        # Under the lock: who has taken hold of it lets go.
        # @param state [Symbol, nil] as Connection#read_available; nil: it was left early
        def release(peer, state)
          return unless state.nil? || again?(peer, state)

          peer.attended = false
          @resumed << peer
        end

        # Under the lock: answers of this connection have not been sent yet.
        def soil(connection) = @dirty.add(connection)

        def dirty? = @dirty.any?

        # Sends what waits to be sent together.
        def flush
          @flushed = Deadline.now
          return unless @dirty.any?

          @lock.exclusively { @dirty.take }.each { |connection| send_to(connection) }
        end

        # Sends it what it takes.
        def send_to(connection) = connection.flush || unsent(connection.session)

        # The peer does not take what is sent.
        # @return [Boolean] whether somebody has to attend to it
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

        # Under the lock: there may be room for those who were turned away.
        def let_in
          return if @crowd.empty? || !@backlog.low?

          @crowd.each_key { |one| resume(one) }
          @crowd.clear
        end

        # Under the lock: somebody waits for an answer of this one.
        def listen_to(peer) = peer.halted && resume(peer)

        # It is over, and its descriptor is about to be closed.
        # @return [Boolean] whether somebody has to attend to others, for whom there is room now
        def remove(peer)
          @lock.exclusively do
            next false unless @peers.delete(peer)

            @reactor.remove(peer) unless @reactor.closed?
            @dirty.delete(peer.connection)
            @crowd.delete(peer)
            @backlog.abandon(peer)
            let_in
            @resumed.any?
          end
        end

        # Ends the wait of who leads; from any thread or signal handler.
        def wake = @reactor.wake

        def close = @reactor.close

        # Bytes within the time for a message by which half a message gets that time again.
        PROGRESS = 64 * 1024

        private

        # @return [Boolean] else nobody attends to it any more
        def again?(peer, state)
          @backlog.release(peer) if waiting?(peer) # what was read last may have been sent too
          return !(peer.again = false) if peer.again && state != :closed

          peer.attended = false
          return false if state == :closed || !@peers.key?(peer)
          return peer.attended = true if state == :full && !halt(peer)

          arm(peer, state)
          false
        end

        # @return [Boolean] whether requests of its own were held back until now, when it has read what it was sent
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
          return resume(peer) if overlooked?(peer)

          events = (state == :full ? 0 : READABLE) | (unsent ? WRITABLE : 0)
          queue = queue_for(state, unsent)
          @reactor.rearm(peer, events, queue, !progress?(peer, queue)) unless events.zero?
        rescue IOError
          nil # it was closed meanwhile
        end

        # It has taken all in the very moment in which it was found not to: no event will tell.
        def overlooked?(peer) = waiting?(peer) || (peer.halted == :unread && !peer.connection.congested?)

        def queue_for(state, unsent)
          return STALLED if unsent

          state == :partial ? PARTIAL : IDLE
        end

        # @return [Boolean] whether its time begins anew
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

        def sweep_out
          @timeouts.each do |queue, seconds|
            @reactor.expire(queue, Deadline.now - seconds).each { |peer| expire(peer, queue, seconds) }
          end
          @sweep = next_sweep
        end

        def expire(peer, queue, seconds)
          return @lock.exclusively { arm(peer, :idle) if @peers.key?(peer) } if queue == IDLE && peer.busy?

          what = { IDLE => "was idle for", PARTIAL => "sent half a message within", STALLED => "read nothing for" }.fetch(queue)
          peer.connection.close("#{what} #{format("%g", seconds)} s")
        end
      end
      private_constant :Peer, :Gathered, :Switchboard
    end
  end
end
