# frozen_string_literal: true

require_relative "../exposure"

module Plait
  module RPC
    # The requests and notifications that one receive of a server brings, in C: plait-io/ext/plait_io/rpc/rb_rpc_batch.h.
    #
    # - `run(handler)`: runs the next ones while their methods are quick and their arguments small, and writes the answers,
    #   unsent. Returns whether the next one is for Ruby to run. After a slow one it returns with others left.
    # - `shift`: takes the next one, as an {Incoming}, or nil. Its worker runs it, and calls `finish`.
    # - `size`: how many are not taken. `requests`, `notifications`: how many of all are such. `connection`.
    # - `finished`: how many were run since the last call; `answered`: how many of these have no {Incoming}.
    # - `NativeBatch.incoming(token)`: the one that runs, by the token in the thread's or fiber's `:plait_rpc_incoming`.
    #
    # Without the extension each request is an {Incoming} from the start.
    Native.available? ? NativeRPC.define_batch(self) : NativeBatch = Class.new
    private_constant :NativeBatch

    class Server
      # The requests that wait for a worker, in the order of their arrival: alone, or as the {NativeBatch} of one receive. Used
      # under the server's lock, but for {#room?}, which may be a little behind.
      #
      # A peer's notifications run one after another ({Peer#telling}), in their order. The next ones wait in {Peer#news}, out of
      # the way of requests; the peer's `pipeline` bounds them.
      class Backlog
        # @param limit [Integer] requests of all connections
        # @param each [Integer] requests of one connection, with running ones
        def initialize(limit, each)
          @limit = limit
          @each = each
          @queue = []
          @started = []
          @waiting = 0
          @promised = 0
        end

        def size = @started.empty? ? @waiting : @started.sum(@waiting, &:size)

        # @return [Boolean] whether all requests are taken
        def empty? = !size.positive?

        # @return [Array<Array>] empty while no request waits
        def queues = [@queue, @started]

        # @return [Integer] requests of one connection that there is room for, if no other waits or runs
        def most = [@limit, @each].min

        # @return [Boolean] whether another request of this peer may be taken
        def room?(peer) = places(peer).positive?

        # Promises places to the reader of a connection: other readers get others.
        # @return [Integer] how many requests of this peer may be taken, until the next call or {#keep_promise}
        def promise(peer)
          keep_promise(peer)
          @promised += peer.promised = places(peer)
          peer.promised
        end

        # As {#promise}, of one place at most.
        def promise_one(peer)
          keep_promise(peer)
          return false unless room?(peer)

          @promised += peer.promised = 1
          true
        end

        # The promised requests are here, or will not come.
        def keep_promise(peer)
          @promised -= peer.promised
          peer.promised = 0
        end

        # @return [Boolean] whether halted peers may send again
        def low? = size + @promised <= @limit / 2

        # @return [Boolean] whether a halted peer has still too many requests in flight
        def much_of?(peer) = peer.in_flight > @each / 2

        # @return [Boolean] false: there is no room
        def push(incoming)
          return false if size >= @limit

          @queue << incoming
          @waiting += 1
          true
        end

        # @return [Boolean] false: there is not room for all of it
        def append(batch)
          return false if size + batch.size > @limit

          @queue << batch
          @waiting += batch.size
          true
        end

        # The next request, or its batch, which stays here until all of it is taken: any of its requests may take long. Requests
        # of peers that don't read their answers are held back.
        def shift
          while (work = started || @queue.shift)
            take_out(work)
            hold?(work) || behind_held?(work) ? hold(work) : (begin_with(work) and return work)
          end
        end

        # It runs, and other workers may take the rest.
        # @return [Incoming, NativeBatch, nil] nil: it waits for its turn
        def begin_with(work)
          return take_turn(work, work.connection.session) if news?(work)

          @started.unshift(work) if work.is_a?(NativeBatch)
          work
        end

        # The rest of a batch is next.
        def put_back(batch) = (put_first(batch) if batch.size.positive?)

        # The work is run, or its worker does no more of it: the peer's next notifications have their turn.
        def finish(work, peer)
          return unless peer.telling.equal?(work)

          following = work if work.is_a?(NativeBatch) && work.size.positive?
          following ||= peer.news&.shift
          peer.telling = following
          put_first(following) if following
        end

        # Work that was held back is next.
        def release(peer)
          return unless peer.held

          put_first(*peer.held)
          peer.held = nil
        end

        # The connection is over: its requests are dropped, its notifications run.
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

        # @return [NativeBatch, nil] with requests that are not taken
        def started
          @started.shift until @started.empty? || @started.first.size.positive?
          @started.first
        end

        def take_out(work) = @started.first.equal?(work) ? @started.shift : @waiting -= count(work)

        # No other worker may take the rest of it.
        def take_turn(work, peer)
          return peer.telling = work if peer.telling.nil? || peer.telling.equal?(work)

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
