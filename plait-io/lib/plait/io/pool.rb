# frozen_string_literal: true

require_relative "pool/checkout"
require_relative "pool/state"

module Plait
  module Io
    # Connections kept for later use: a few for each key (an endpoint, an origin), the newest used first, bounded for each key
    # and in all, shared by threads and fibers. Waiting checkouts are served in order. A connection is anything
    # with `close` and `stale?`; and `abandon`, if a fork may have a copy of it (see {Stream#abandon}).
    #
    # {Plait::Pool} is the one for a single place, for connections of any kind.
    #
    # @example
    #   wire = nil
    #   pool.checkout(endpoint, deadline: deadline, take: ->(taken) { wire = taken }) { connect(endpoint, deadline) }
    #   …
    #   pool.checkin(wire) # or discard, after an exchange that was broken off
    class Pool
      # The lock around the state of a pool, the wait of a checkout, and the new state of a forked process. The pool defines
      # `start_in_child`, `too_late` (an error) and `close_all`.
      module Locking
        private

        # An interrupt between two changes of the state would lose a place; one between a change and the close that it asks for
        # would leak a connection.
        def uninterruptible(&block) = Uninterruptible.run(&block)

        def locked(&block) = Uninterruptible.run { synchronized(&block) }

        # @yieldreturn [Array<Object>] to be closed; the pool's lock is held in the block
        def change(&block) = Uninterruptible.run { close_all(synchronized(&block)) }

        def synchronized
          Uninterruptible.exclusively(@lock) do
            start_in_child if @generation != Native.fork_generation
            yield
          end
        end

        def await(checkout, deadline)
          @lock.synchronize do
            until checkout.granted?
              raise too_late(checkout) if deadline&.expired?

              checkout.wait(@lock, deadline&.remaining)
            end
          end
        end
      end

      include Locking

      EXHAUSTED = [Errno::EMFILE, Errno::ENFILE].freeze
      COUNTED = %i[connected reused stale expired evicted timeouts].freeze

      # @param per_key [Integer] connections for a key at most, idle and busy
      # @param max [Integer] connections at most; for a new one an idle one of another key is closed
      # @param idle_timeout [Numeric, nil] seconds after which an idle connection is closed, when the pool is used next; nil:
      #   never
      # @param max_idle [Integer, nil] idle ones at most; the oldest is closed for a newer one; nil: half of the descriptors
      #   that this process may have
      # @param check_after [Numeric] seconds idle after which a connection is asked whether it is stale
      def initialize(per_key: 8, max: 256, idle_timeout: 30, max_idle: nil, check_after: 0.001)
        raise UsageError, "per_key: and max: must be at least 1" unless per_key.positive? && max.positive?

        @limits = Limits.new(per_key, max, idle_timeout, max_idle || Limits.half_of_all)
        @check_after = check_after
        @lock = Mutex.new
        @state = State.new(@limits)
        @generation = Native.fork_generation
      end

      # Every connection must come back by {checkin} or {discard}.
      # @param key [Object] the target of the connection; a key of a Hash
      # @param renew [Boolean, #call] whether to make a new connection, by the idle one, which is closed for it
      # @param take [#call, nil] is given the connection, before any interrupt can come. An interrupt while {checkout} returns
      #   would lose the returned connection
      # @yield makes a new one; called without any lock. It may give the connection to its block: from then on no interrupt can
      #   lose it
      # @return [Object] a connection
      # @raise [PoolTimeout] when none came free in time
      # @raise [UsageError] when the pool is closed
      def checkout(key, deadline: nil, renew: false, take: nil, &connect)
        checkout = Checkout.new(key)
        taken = false
        connection = obtain(checkout, deadline, connect, renew: renew)
        uninterruptible do
          take&.call(connection)
          taken = true
        end
        connection
      ensure
        uninterruptible { taken || settle(checkout) }
      end

      # Brings a connection back: to the checkout that has waited longest, or into the pool. A closed one gives its place to a
      # waiting checkout.
      # @raise [UsageError] when it is not checked out
      def checkin(connection) = change { inherited?(connection) ? [] : @state.give_back(connection) }

      # Lets others have a busy connection if there is no room, and closes it in time as an idle one, until it is reclaimed.
      def spare(connection) = change { @state.spare(connection) }

      # @return [Boolean] false: a connection that was spared is another checkout's now, or closed
      def reclaim(connection) = locked { @state.reclaim(connection) }

      # Closes a connection that can't be used again, and gives its place to the checkout that has waited longest.
      def discard(connection) = change { !inherited?(connection) && @state.strike(connection) ? [connection] : [] }

      # @return [Boolean] whether a busy connection had been used before it was checked out: when it turns out to be
      #   closed before any byte of an answer has come, the peer may have closed it before the request
      def reused?(connection) = locked { @state.reused?(connection) }

      # Changes limits, see {#initialize}; each for connections that come after.
      def limit(**changes) = locked { @state.limit(**changes) }

      # Closes idle connections.
      def clear = change { @state.clear }

      # Closes idle connections, and busy ones when they come back. A waiting checkout gets a {UsageError}.
      def close = change { @state.close }

      # @param counted [Array<Symbol>] names of what is counted; also cleared, discarded, waited
      # @return [Hash{Symbol => Integer}] now: idle, busy, waiting; so far: connected, reused, stale, expired, evicted,
      #   timeouts
      def statistics(counted = COUNTED) = locked { @state.statistics(counted) }

      def inspect = "#<#{self.class} #{statistics}>"

      private

      def obtain(checkout, deadline, connect, renew: false)
        change { @state.admit(checkout) }
        await(checkout, deadline) unless checkout.granted?
        raise UsageError, "the pool is closed" if checkout.refused?

        nil until checkout.connection.nil? || usable?(checkout, renew)
        checkout.connection || enter(checkout, connect)
      end

      # Without a mask while a connection is made: that would replace the caller's.
      def enter(checkout, connect)
        connection = nil
        make(connect) { |made| connection = made } # an interrupt could lose a returned connection
        locked { @state.enter(checkout, connection) }
        checkout.connection
      ensure
        uninterruptible { connection.close if connection && !checkout.connection }
      end

      # Descriptors that idle connections hold are needed more for a new one.
      def make(connect, &take)
        yield connect.call(&take)
      rescue ConnectError => e
        raise unless e.causes.any? { |cause| EXHAUSTED.include?(cause.class) }

        clear
        yield connect.call(&take)
      end

      # A stale connection is closed.
      # @param renew see {#checkout}
      def usable?(checkout, renew)
        connection = checkout.connection
        old = renew.respond_to?(:call) ? renew.call(connection) : renew
        return true unless old || (checkout.idle_for > @check_after && connection.stale?)

        change do
          @state.strike_stale(checkout, renew == true)
          [connection]
        end
        false
      end

      # Ends a checkout at any stage, so that nothing of it remains in the state. Interrupts are held back by the caller: an
      # `ensure` itself can be interrupted.
      def settle(checkout)
        return unless checkout

        close_all(synchronized { inherited?(checkout.connection) ? [] : @state.settle(checkout) })
      end

      # In the child of a fork all connections are the parent's.
      def start_in_child
        inherited = @state
        @state = State.new(@limits)
        @generation = Native.fork_generation
        @inherited = inherited.busy.to_h { |connection| [connection, true] }.compare_by_identity
        inherited.idle.each { |connection| abandon(connection) }
      end

      # @return [Boolean] whether it was the parent's, and is given up now
      def inherited?(connection)
        return false unless @inherited&.delete(connection)

        abandon(connection)
        true
      end

      def abandon(connection) = connection.respond_to?(:abandon) ? connection.abandon : nil

      def close_all(connections) = connections.each(&:close)

      def too_late(checkout)
        @state.count(:timeouts)
        PoolTimeout.new("no connection to #{checkout.key} came free in time: #{@state.places(checkout.key)} of " \
                        "#{@limits.per_key} for it (per_key:), #{@state.total} of #{@limits.max} in all (max:) are in use",
                        endpoint: checkout.key)
      end
    end
  end
end
