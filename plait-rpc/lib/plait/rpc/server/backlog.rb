# frozen_string_literal: true

require_relative "../native_line"

module Plait
  module RPC
    class Server
      # The requests that wait for a worker, in the order in which they came: each for itself, or those that came from a
      # connection at once together, in a {NativeBatch}. All of it is used under the server's lock, but for {#room?}, which may be
      # a little behind.
      #
      # A peer's notifications have one turn, which one work has at a time ({Peer#telling}): so they are run in their order. The
      # next ones wait in {Peer#news}, out of the way of all requests; the peer's `pipeline` bounds them.
      class Backlog
        # @param limit [Integer] requests of all connections
        # @param each [Integer] requests of one connection, those included that are being run
        def initialize(limit, each)
          @limit = limit
          @each = each
          @queue = []
          @begun = []
          @waiting = 0
          @promised = 0
        end

        # @return [Integer]
        def size = @begun.empty? ? @waiting : @begun.sum(@waiting, &:size)

        # @return [Boolean] whether there is nothing that nobody has taken yet
        def empty? = !size.positive?

        # @return [Boolean] whether nobody has to wait for anybody
        def idle? = @queue.empty? && begun.nil?

        # @return [Boolean] whether another one of this connection may be taken
        def room?(peer) = places(peer).positive?

        # Promises places to who reads from a connection: others who read meanwhile don't get the same ones.
        # @return [Integer] how many of this connection may be taken, until it is asked again or {#keep_promise}
        def promise(peer)
          keep_promise(peer)
          @promised += peer.promised = places(peer)
          peer.promised
        end

        # As {#promise}, of one place at most, to who takes it at once.
        def promise_one(peer)
          keep_promise(peer)
          return false unless room?(peer)

          @promised += peer.promised = 1
          true
        end

        # What was promised is there, or will not come.
        def keep_promise(peer)
          @promised -= peer.promised
          peer.promised = 0
        end

        # @return [Boolean] whether those that were turned away may come again
        def low? = size + @promised <= @limit / 2

        # @return [Boolean] whether one that was turned away has still too many of its own
        def much_of?(peer) = peer.in_flight > @each / 2

        # @return [Boolean] false: there is no room
        def push(incoming)
          return false if size >= @limit

          @queue << incoming
          @waiting += 1
          true
        end

        # @param batch [NativeBatch]
        # @return [Boolean] false: there is not room for all of it
        def append(batch)
          return false if size + batch.size > @limit

          @queue << batch
          @waiting += batch.size
          true
        end

        # The next one, or those of which it is one: they stay until all are taken, since any of them may take long. Those of
        # peers who don't read what they are sent are held back.
        # @return [Incoming, NativeBatch, nil]
        def shift
          while (work = begun || @queue.shift)
            take_out(work)
            hold?(work) || behind_held?(work) ? hold(work) : (begin_with(work) and return work)
          end
        end

        # As {#append} and {#shift}: whoever reads it runs it.
        # @param batch [NativeBatch]
        # @return [NativeBatch, nil] nil: there is not room for all of it
        def begin_at_once(batch) = (begin_with(batch) unless size + batch.size > @limit)

        # @param work [Incoming, NativeBatch]
        # @return [Boolean] whether it may begin as far as notifications before it are concerned
        def turn?(work, peer) = peer.telling.nil? || peer.telling.equal?(work) || !news?(work)

        # Somebody runs it already, and others may take what is left of it.
        # @param batch [NativeBatch]
        # @return [NativeBatch, nil] nil: it was not begun, and has to wait for its turn
        def take_up(batch) = begin_with(batch)

        # What was begun is run, or its worker does no more of it: the peer's next notifications have their turn.
        # @param work [Incoming, NativeBatch]
        def told(work, peer)
          return unless peer.telling.equal?(work)

          following = work if work.is_a?(NativeBatch) && work.size.positive?
          following ||= peer.news&.shift
          peer.telling = following
          put_first(following) if following
        end

        # The peer of one that was begun may not read what it is sent.
        # @param batch [NativeBatch]
        def hold_back(batch)
          return unless begun.equal?(batch) && hold?(batch)

          @begun.shift
          hold(batch)
        end

        # It reads again.
        # @return [NativeBatch, nil] what was held back, where that is all of one batch; it is begun
        def go_on(peer)
          batch, *others = peer.held
          return unless batch.is_a?(NativeBatch) && others.empty? && !hold?(batch) && turn?(batch, peer)

          peer.held = nil
          begin_with(batch)
        end

        # What was held back is next.
        def release(peer)
          return unless peer.held

          put_first(*peer.held)
          peer.held = nil
        end

        # It is over, and nobody is left to read answers: its requests are forgotten. Who notifies waits for none.
        def abandon(peer)
          keep_promise(peer)
          release(peer)
          return unless peer.in_flight.positive?

          before = @waiting
          @queue.reject! { |work| work.connection.equal?(peer.connection) && !news?(work) }
          @waiting = @queue.sum { |work| count(work) }
          peer.in_flight -= before - @waiting
        end

        private

        def places(peer)
          return 0 if peer.connection.congested?

          [@limit - size - @promised, @each - peer.in_flight].min.clamp(0..)
        end

        def count(work) = work.is_a?(NativeBatch) ? work.size : 1

        def news?(work) = work.is_a?(NativeBatch) ? work.notifications.positive? : work.notification?

        def put_first(*works)
          @waiting += works.sum { |work| count(work) }
          @queue.unshift(*works)
        end

        # @return [NativeBatch, nil] of which some are left
        def begun
          @begun.shift until @begun.empty? || @begun.first.size.positive?
          @begun.first
        end

        def take_out(work)
          @begun.first.equal?(work) ? @begun.shift : @waiting -= count(work)
        end

        # @return [Incoming, NativeBatch, nil] nil: it waits for its turn
        def begin_with(work)
          return take_turn(work, work.connection.session) if news?(work)

          @begun.unshift(work) if work.is_a?(NativeBatch)
          work
        end

        # Nobody else may take what is left of it.
        def take_turn(work, peer)
          return peer.telling = work if turn?(work, peer)

          (peer.news ||= []) << work
          nil
        end

        def hold(work) = (work.connection.session.held ||= []) << work

        def hold?(work) = work.connection.congested? && !work.connection.closed?

        def behind_held?(work) = work.connection.session.held && news?(work)
      end
      private_constant :Backlog
    end
  end
end
